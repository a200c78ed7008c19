/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* The record of what the tree has after the change. */
static int make_record(const struct weaving *weaving, bool undo, struct weave_record *record)
{
    int result = 0;
    *record = (struct weave_record){0};
    for (size_t i = 0; !undo && result == 0 && i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        if (file->line_count > 0)
            result = weave_record_add(record, file->name, weave_sum(file->clean, file->clean_size));
    }
    return result;
}

/* All new texts beside the old ones; `beside` has a row a file, and one for the record. */
static int write_beside(const struct weaving *weaving, bool undo, char **beside)
{
    struct weave_record record;
    int result = make_record(weaving, undo, &record);
    if (result == 0 && record.count > 0)
        result = weave_record_write_beside(&weaving->tree, &record, &beside[weaving->file_count]);
    weave_record_free(&record);
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        size_t size;
        const char *text = wanted(file, undo, &size);
        if (differs(file, undo))
            result = weave_tree_write_beside(&weaving->tree, file->name, text, size, file->mode,
                                             &beside[i]);
    }
    return result;
}

/* The record goes first: one that tells of more than is there does no harm. */
static int replace_all(const struct weaving *weaving, char **beside, size_t *changed)
{
    char *record = beside[weaving->file_count];
    int result = record ? weave_tree_replace(&weaving->tree, record, WEAVE_RECORD) : 0;
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++) {
        if (!beside[i])
            continue;
        result = weave_tree_replace(&weaving->tree, beside[i], weaving->files[i].name);
        if (result == 0)
            ++*changed;
        else if (*changed > 0)
            result =
                err_set(-result, "%s/%s: cannot replace it: %s; %zu files are replaced already",
                        weaving->tree.name, weaving->files[i].name, strerror(-result), *changed);
    }
    if (result == 0 && !record && weaving->recorded)
        result = weave_tree_remove(&weaving->tree, WEAVE_RECORD);
    return result;
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
    int result = write_beside(weaving, undo, beside);
    if (result == 0)
        result = replace_all(weaving, beside, changed);
    for (size_t i = 0; i <= weaving->file_count; i++) {
        if (result && beside[i]) { /* after a rename it is not there */
            char message[1024];
            snprintf(message, sizeof(message), "%s", err_message());
            if (weave_tree_remove(&weaving->tree, beside[i]) < 0)
                err_set(-result, "%s", message);
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
