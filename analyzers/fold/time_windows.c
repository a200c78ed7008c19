/* SPDX-License-Identifier: MIT */
#include "time_windows.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

int time_windows_init(struct time_windows *windows, size_t count, size_t words)
{
    *windows = (struct time_windows){.count = count, .words = words};
    windows->cells = calloc(count * words, sizeof(*windows->cells));
    return windows->cells ? 0 : err_no_memory();
}

void time_windows_free(struct time_windows *windows)
{
    free(windows->cells);
}

/* Windows twice as wide, the first of which may begin one old window earlier. */
static void widen(struct time_windows *windows)
{
    uint64_t width = 2 * windows->width_ns;
    uint64_t origin = windows->origin_ns - windows->origin_ns % width;
    size_t ahead = origin < windows->origin_ns;
    size_t words = windows->words;
    for (size_t i = 0; i < windows->count; i++) {
        size_t into = (i + ahead) / 2;
        uint64_t *from = windows->cells + i * words, *to = windows->cells + into * words;
        if (into == i)
            continue;
        /* the first of the two comes into a window that was emptied, or is its own */
        for (size_t j = 0; j < words; j++)
            to[j] += from[j];
        memset(from, 0, words * sizeof(*from));
    }
    windows->origin_ns = origin;
    windows->width_ns = width;
}

uint64_t *time_windows_at(struct time_windows *windows, uint64_t time_ns)
{
    if (windows->width_ns == 0) {
        windows->width_ns = TIME_WINDOWS_FIRST;
        windows->origin_ns = time_ns - time_ns % TIME_WINDOWS_FIRST;
    }
    if (time_ns < windows->origin_ns)
        return windows->cells;
    while ((time_ns - windows->origin_ns) / windows->width_ns >= windows->count)
        widen(windows);
    return windows->cells + (time_ns - windows->origin_ns) / windows->width_ns * windows->words;
}

/* Where the last window that is not empty ends. */
static uint64_t end_of(const struct time_windows *windows)
{
    size_t last = windows->count * windows->words;
    while (last > 0 && windows->cells[last - 1] == 0)
        last--;
    return windows->origin_ns + (last + windows->words - 1) / windows->words * windows->width_ns;
}

/* Moves the windows so that they begin with this time, wider if they must be. */
static void begin_earlier(struct time_windows *windows, uint64_t time_ns)
{
    uint64_t end = end_of(windows);
    while ((end - (time_ns - time_ns % windows->width_ns) + windows->width_ns - 1) /
               windows->width_ns >
           windows->count)
        widen(windows);
    uint64_t origin = time_ns - time_ns % windows->width_ns;
    if (origin >= windows->origin_ns)
        return;
    size_t by = (windows->origin_ns - origin) / windows->width_ns * windows->words;
    size_t all = windows->count * windows->words;
    memmove(windows->cells + by, windows->cells, (all - by) * sizeof(*windows->cells));
    memset(windows->cells, 0, by * sizeof(*windows->cells));
    windows->origin_ns = origin;
}

void time_windows_add(struct time_windows *windows, uint64_t begin_ns, uint64_t width_ns,
                      const uint64_t *words)
{
    if (windows->width_ns == 0)
        (void)time_windows_at(windows, begin_ns);
    while (windows->width_ns < width_ns)
        widen(windows);
    if (begin_ns < windows->origin_ns)
        begin_earlier(windows, begin_ns);
    uint64_t *to = time_windows_at(windows, begin_ns);
    for (size_t i = 0; i < windows->words; i++)
        to[i] += words[i];
}
