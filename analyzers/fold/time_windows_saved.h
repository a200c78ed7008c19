/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TIME_WINDOWS_SAVED_H
#define OPTRAIL_TIME_WINDOWS_SAVED_H

#include "profile_rows.h"
#include "time_windows.h"

/* Puts the windows that are not empty into a profile, a row of this keyword each: begin, width,
 * number of sums that are not 0, of each its place and itself. And adds such rows. */
void time_windows_save(const struct time_windows *windows, const char *keyword,
                       struct profile_writer *writer);
void time_windows_load(struct time_windows *windows, const char *keyword,
                       struct profile_reader *reader);

/* The same of any short list of sums: their number, of each its place and itself. Loading adds. */
void sparse_save(const uint64_t *words, size_t count, struct profile_writer *writer);
void sparse_load(uint64_t *words, size_t count, struct profile_reader *reader);

#endif
