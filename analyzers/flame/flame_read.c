/* SPDX-License-Identifier: MIT */
#include "flame_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "profile_rows.h"

static const struct flame_reader *const readers[] = {&flame_read_perf, &flame_read_collapsed};

enum { READER_COUNT = sizeof(readers) / sizeof(readers[0]) };

const struct flame_reader *flame_reader_by_name(const char *name)
{
    char known[128] = "";
    for (size_t i = 0; i < READER_COUNT; i++) {
        if (strcmp(readers[i]->name, name) == 0)
            return readers[i];
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", readers[i]->name);
    }
    err_set(EINVAL, "there is no input '%s': there are %s", name, known);
    return NULL;
}

static bool is_profile(const char *text, size_t length)
{
    size_t magic = strlen(PROFILE_MAGIC);
    return length > magic && memcmp(text, PROFILE_MAGIC " ", magic + 1) == 0;
}

const struct flame_reader *flame_reader_of(struct flame_lines *lines, const char *name)
{
    const struct flame_reader *most = NULL;
    const char *text;
    size_t length, most_lines = 0;
    if (flame_lines_peek(lines, &text, &length) < 0)
        return NULL;
    if (is_profile(text, length)) {
        err_set(EBADMSG,
                "%s: is a saved profile, which holds sums and no stacks: a flame graph needs the "
                "trace that it was made of",
                lines->name);
        return NULL;
    }
    if (name)
        return flame_reader_by_name(name);
    for (size_t i = 0; i < READER_COUNT; i++) {
        size_t count = readers[i]->looks_like(text, length);
        if (count > most_lines) {
            most = readers[i];
            most_lines = count;
        }
    }
    if (most)
        return most;
    err_set(ENODATA,
            length > 0 ? "%s: neither collapsed stacks nor the output of `perf script`: name what "
                         "it is with --input"
            : lines->damage.cut ? "%s: the compressed data are damaged or break off before the "
                                  "first line"
                                : "%s: is empty",
            lines->name);
    return NULL;
}
