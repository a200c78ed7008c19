/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "weave.h"

/* Lines around a change. */
#define CONTEXT 3

/* Writes lines of the clean text from *at on. */
static void put_lines(const struct weave_file *file, size_t *at, unsigned count, FILE *out)
{
    for (; count > 0 && *at < file->clean_size; count--) {
        const char *line = file->clean + *at;
        const char *end = memchr(line, '\n', file->clean_size - *at);
        size_t length = end ? (size_t)(end - line) + 1 : file->clean_size - *at;
        putc(' ', out);
        fwrite(line, 1, length, out);
        if (!end)
            fputs("\n\\ No newline at end of file\n", out);
        *at += length;
    }
}

/* Lines of the clean text in [begin, end). */
static unsigned count_lines(const struct weave_file *file, size_t begin, size_t end)
{
    unsigned count = 0;
    for (; begin < end; begin++)
        count += file->clean[begin] == '\n' || begin + 1 == file->clean_size;
    return count;
}

/* The hunk of the lines [first, last]. */
static void put_hunk(const struct weave_file *file, size_t first, size_t last, FILE *out)
{
    size_t at = file->lines[first].offset, end = file->lines[last].offset;
    for (unsigned i = 0; i < CONTEXT && at > 0; i++)
        for (at--; at > 0 && file->clean[at - 1] != '\n';)
            at--;
    for (unsigned i = 0; i < CONTEXT && end < file->clean_size; i++)
        while (end < file->clean_size && file->clean[end++] != '\n')
            ;
    unsigned old = count_lines(file, at, end), before = count_lines(file, 0, at) + 1;
    fprintf(out, "@@ -%u,%u +%zu,%zu @@\n", before, old, before + first, old + last - first + 1);
    for (size_t i = first; i <= last; i++) {
        put_lines(file, &at, count_lines(file, at, file->lines[i].offset), out);
        fprintf(out, "+%s", file->lines[i].text);
    }
    put_lines(file, &at, count_lines(file, at, end), out);
}

void weave_diff(const struct weaving *weaving, FILE *out)
{
    for (size_t i = 0; i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        if (file->line_count > 0)
            fprintf(out, "--- a/%s\n+++ b/%s\n", file->name, file->name);
        for (size_t first = 0, last; first < file->line_count; first = last + 1) {
            last = first;
            while (last + 1 < file->line_count &&
                   count_lines(file, file->lines[last].offset, file->lines[last + 1].offset) <=
                       2 * CONTEXT)
                last++;
            put_hunk(file, first, last, out);
        }
    }
}
