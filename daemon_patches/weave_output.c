/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "weave.h"

/* Lines around a change in a diff. */
#define CONTEXT 3

static const char *wanted(const struct weave_file *file, bool undo, size_t *size)
{
    *size = undo ? file->clean_size : file->woven_size;
    return undo ? file->clean : file->woven;
}

static bool differs(const struct weave_file *file, bool undo)
{
    size_t size;
    const char *text = wanted(file, undo, &size);
    return size != file->found_size || memcmp(text, file->found, size) != 0;
}

/* Writes the new text beside the file; *temporary is owned by the caller. */
static int write_beside(const struct weave_file *file, bool undo, char **temporary)
{
    size_t size;
    const char *text = wanted(file, undo, &size);
    if (asprintf(temporary, "%s.optrail-XXXXXX", file->path) < 0) {
        *temporary = NULL;
        return err_no_memory();
    }
    int descriptor = mkstemp(*temporary);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) {
        int result = err_set(errno, "%s: cannot write beside it: %s", file->path, strerror(errno));
        if (descriptor >= 0) {
            close(descriptor);
            unlink(*temporary);
        }
        free(*temporary);
        *temporary = NULL;
        return result;
    }
    bool good = fwrite(text, 1, size, out) == size && fchmod(descriptor, file->mode) == 0 &&
                fflush(out) == 0 && fsync(descriptor) == 0;
    int code = errno;
    if (fclose(out) != 0 || !good)
        return err_set(code ? code : EIO, "%s: cannot write beside it: %s", file->path,
                       strerror(code ? code : EIO));
    return 0;
}

int weave_write(const struct weaving *weaving, bool undo, size_t *changed)
{
    *changed = 0;
    if (!undo && weaving->refused)
        return err_set(EINVAL, "%zu of %zu rules are refused: nothing is changed", weaving->refused,
                       weaving->outcome_count);
    char **beside = calloc(weaving->file_count + 1, sizeof(*beside));
    if (!beside)
        return err_no_memory();
    int result = 0;
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++)
        if (differs(&weaving->files[i], undo))
            result = write_beside(&weaving->files[i], undo, &beside[i]);
    for (size_t i = 0; i < weaving->file_count; i++) {
        if (!beside[i])
            continue;
        if (result == 0 && rename(beside[i], weaving->files[i].path) == 0) {
            ++*changed;
        } else {
            if (result == 0)
                result = err_set(errno, "%s: cannot replace it: %s; %zu files are replaced already",
                                 weaving->files[i].path, strerror(errno), *changed);
            unlink(beside[i]);
        }
        free(beside[i]);
    }
    free(beside);
    return result;
}

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
