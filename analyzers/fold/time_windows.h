/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TIME_WINDOWS_H
#define OPTRAIL_TIME_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sums by time, in a fixed number of windows however long the run is: when it outgrows them, each
 * two become one. A window's width is a power of two ns, and it begins at a multiple of its width,
 * so that the windows of two runs on one clock can be added up.
 */
struct time_windows {
    uint64_t origin_ns, width_ns; /* 0 as long as there is nothing */
    size_t count;                 /* even */
    size_t words;                 /* sums in each */
    uint64_t *cells;              /* owned; count x words */
};

/* Negative errno with the message: no memory. */
int time_windows_init(struct time_windows *windows, size_t count, size_t words);
void time_windows_free(struct time_windows *windows);

/* The sums of the window with this time. Weak, until the next call. What lies before the first
 * time that was asked for belongs to the first window. */
uint64_t *time_windows_at(struct time_windows *windows, uint64_t time_ns);

/* Adds sums of windows of at least the first width, which is a power of two: `words` of them for
 * the window that begins at `begin_ns`. What was before the first time moves the windows. */
void time_windows_add(struct time_windows *windows, uint64_t begin_ns, uint64_t width_ns,
                      const uint64_t *words);

/* The smallest width of a window, ns. */
#define TIME_WINDOWS_FIRST (1ull << 20)

#endif
