/* SPDX-License-Identifier: MIT */
#include "weave_file.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave_text.h"

/* No source file of a daemon is larger. */
#define MAX_BYTES (16 << 20)

static bool ends_with_mark(const char *line, size_t length, const char *begin, const char *end)
{
    size_t begin_length = strlen(begin), end_length = strlen(end);
    if (length < end_length || memcmp(line + length - end_length, end, end_length) != 0)
        return false;
    length -= end_length;
    size_t at = length;
    while (at > 0 && strchr("abcdefghijklmnopqrstuvwxyz0123456789_", line[at - 1]) && line[at - 1])
        at--;
    return at < length && at >= begin_length &&
           memcmp(line + at - begin_length, begin, begin_length) == 0;
}

/* Whether the line (without its end) is one of ours. */
static bool is_ours(const char *line, size_t length)
{
    return ends_with_mark(line, length, WEAVE_MARK_BEGIN, WEAVE_MARK_END) ||
           ends_with_mark(line, length, WEAVE_BUILD_MARK, "");
}

static int make_clean(struct weave_file *file)
{
    file->clean = malloc(file->found_size + 1);
    if (!file->clean)
        return err_no_memory();
    for (size_t at = 0, next; at < file->found_size; at = next) {
        const char *line = file->found + at;
        const char *end = memchr(line, '\n', file->found_size - at);
        next = end ? (size_t)(end - file->found) + 1 : file->found_size;
        size_t length = next - at - (end != NULL);
        length -= end && length > 0 && line[length - 1] == '\r';
        if (end && is_ours(line, length))
            continue;
        memcpy(file->clean + file->clean_size, line, next - at);
        file->clean_size += next - at;
    }
    file->clean[file->clean_size] = '\0';
    return 0;
}

int weave_file_read(const struct weave_tree *tree, const char *name, struct weave_file *file)
{
    *file = (struct weave_file){.name = name};
    int result =
        weave_tree_read(tree, name, MAX_BYTES, &file->found, &file->found_size, &file->access);
    if (result == 0)
        result = make_clean(file);
    if (result)
        weave_file_free(file);
    return result;
}

const char *weave_file_line_end(const struct weave_file *file, size_t offset)
{
    return offset > 1 && file->clean[offset - 2] == '\r' ? "\r\n" : "\n";
}

int weave_file_add(struct weave_file *file, size_t offset, bool in_front, size_t rule, char *text)
{
    struct weave_line *lines = reallocarray(file->lines, file->line_count + 1, sizeof(*lines));
    if (!lines) {
        free(text);
        return err_no_memory();
    }
    file->lines = lines;
    size_t at = file->line_count++;
    for (; at > 0 && (lines[at - 1].offset > offset ||
                      (lines[at - 1].offset == offset && lines[at - 1].in_front && !in_front));
         at--)
        lines[at] = lines[at - 1];
    lines[at] =
        (struct weave_line){.offset = offset, .in_front = in_front, .rule = rule, .text = text};
    return 0;
}

int weave_file_make_woven(struct weave_file *file)
{
    size_t size = file->clean_size, at = 0;
    unsigned line = 1;
    for (size_t i = 0; i < file->line_count; i++)
        size += strlen(file->lines[i].text);
    file->woven = malloc(size + 1);
    if (!file->woven)
        return err_no_memory();
    for (size_t i = 0; i <= file->line_count; i++) {
        size_t until = i < file->line_count ? file->lines[i].offset : file->clean_size;
        for (; at < until; at++) {
            file->woven[file->woven_size++] = file->clean[at];
            line += file->clean[at] == '\n';
        }
        if (i == file->line_count)
            break;
        size_t length = strlen(file->lines[i].text);
        memcpy(file->woven + file->woven_size, file->lines[i].text, length);
        file->woven_size += length;
        file->lines[i].line = line++;
    }
    return 0;
}

void weave_file_free(struct weave_file *file)
{
    for (size_t k = 0; k < file->line_count; k++)
        free(file->lines[k].text);
    free(file->lines);
    free(file->found);
    free(file->clean);
    free(file->woven);
    *file = (struct weave_file){0};
}
