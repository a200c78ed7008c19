/* SPDX-License-Identifier: MIT */
#include "flame_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

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

const struct flame_reader *flame_reader_of(struct flame_lines *lines)
{
    const char *text;
    size_t length;
    if (flame_lines_peek(lines, &text, &length) < 0)
        return NULL;
    for (size_t i = 0; i < READER_COUNT; i++)
        if (readers[i]->looks_like(text, length))
            return readers[i];
    err_set(ENODATA,
            length ? "%s: neither collapsed stacks nor the output of `perf script`: name what it "
                     "is with --input"
                   : "%s: is empty",
            lines->name);
    return NULL;
}
