/* SPDX-License-Identifier: MIT */
#include "time_windows.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define FIRST_WIDTH (1ull << 20) /* about a millisecond */

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
        windows->width_ns = FIRST_WIDTH;
        windows->origin_ns = time_ns - time_ns % FIRST_WIDTH;
    }
    if (time_ns < windows->origin_ns)
        return windows->cells;
    while ((time_ns - windows->origin_ns) / windows->width_ns >= windows->count)
        widen(windows);
    return windows->cells + (time_ns - windows->origin_ns) / windows->width_ns * windows->words;
}
