/* SPDX-License-Identifier: MIT */
#include "time_windows_saved.h"

#include <string.h>

/* Windows of a profile are at most so wide: nine years, for clocks may be damaged. */
#define WIDEST    (1ull << 58)
#define MAX_WORDS 4096

void sparse_save(const uint64_t *words, size_t count, struct profile_writer *writer)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += words[i] > 0;
    profile_put_number(writer, used);
    for (size_t i = 0; i < count; i++) {
        if (words[i] == 0)
            continue;
        profile_put_number(writer, i);
        profile_put_number(writer, words[i]);
    }
}

void sparse_load(uint64_t *words, size_t count, struct profile_reader *reader)
{
    uint64_t used = profile_number(reader, count);
    for (uint64_t i = 0; i < used && profile_reader_result(reader) == 0; i++) {
        uint64_t place = profile_number(reader, count - 1);
        words[place] += profile_number(reader, PROFILE_MAX_NUMBER);
    }
}

void time_windows_save(const struct time_windows *windows, const char *keyword,
                       struct profile_writer *writer)
{
    for (size_t i = 0; windows->width_ns > 0 && i < windows->count; i++) {
        const uint64_t *cell = windows->cells + i * windows->words;
        bool empty = true;
        for (size_t j = 0; empty && j < windows->words; j++)
            empty = cell[j] == 0;
        if (empty)
            continue;
        profile_put_row(writer, keyword);
        profile_put_number(writer, windows->origin_ns + i * windows->width_ns);
        profile_put_number(writer, windows->width_ns);
        sparse_save(cell, windows->words, writer);
    }
}

void time_windows_load(struct time_windows *windows, const char *keyword,
                       struct profile_reader *reader)
{
    uint64_t words[MAX_WORDS];
    while (profile_take_row(reader, keyword)) {
        uint64_t begin = profile_number(reader, PROFILE_MAX_NUMBER);
        uint64_t width = profile_number(reader, WIDEST);
        memset(words, 0, sizeof(words));
        sparse_load(words, windows->words, reader);
        if (profile_reader_result(reader) < 0)
            return;
        if (width < TIME_WINDOWS_FIRST || (width & (width - 1)) || begin % width) {
            profile_wrong(reader, "a window of time that is none");
            return;
        }
        time_windows_add(windows, begin, width, words);
    }
}
