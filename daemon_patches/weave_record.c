/* SPDX-License-Identifier: MIT */
#include "weave_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fnv1a.h"

#define HEAD       "optrail.woven/1\n"
#define MAX_RECORD (1 << 20)
#define MAX_ROWS   10000

uint64_t weave_sum(const char *text, size_t size)
{
    return fnv1a(FNV1A_BEGIN, text, size);
}

int weave_record_add(struct weave_record *record, const char *name, uint64_t sum)
{
    struct weave_recorded *rows = reallocarray(record->rows, record->count + 1, sizeof(*rows));
    char *copy = strdup(name);
    if (rows)
        record->rows = rows;
    if (!rows || !copy) {
        free(copy);
        return err_no_memory();
    }
    rows[record->count++] = (struct weave_recorded){.name = copy, .sum = sum};
    return 0;
}

const struct weave_recorded *weave_record_find(const struct weave_record *record, const char *name)
{
    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->rows[i].name, name) == 0)
            return &record->rows[i];
    return NULL;
}

static bool take_sum(const char **at, uint64_t *sum)
{
    *sum = 0;
    for (int i = 0; i < 16; i++, ++*at) {
        char digit = **at;
        bool letter = digit >= 'a' && digit <= 'f';
        if (!letter && !(digit >= '0' && digit <= '9'))
            return false;
        *sum = *sum << 4 | (uint64_t)(letter ? digit - 'a' + 10 : digit - '0');
    }
    return *(*at)++ == ' ';
}

/* `line` is at, and behind, the line's beginning. */
static int take_row(const char **line, struct weave_record *record)
{
    uint64_t sum;
    const char *at = *line, *end = strchr(at, '\n');
    char name[1024];
    if (!end || !take_sum(&at, &sum) || (size_t)(end - at) >= sizeof(name))
        return -EINVAL;
    memcpy(name, at, (size_t)(end - at));
    name[end - at] = '\0';
    if (!weave_tree_holds(name) || strcmp(name, WEAVE_RECORD) == 0 || record->count == MAX_ROWS ||
        weave_record_find(record, name))
        return -EINVAL;
    *line = end + 1;
    return weave_record_add(record, name, sum);
}

int weave_record_read(const struct weave_tree *tree, struct weave_record *record, bool *there)
{
    char *text;
    size_t size;
    *record = (struct weave_record){0};
    int result = weave_tree_read(tree, WEAVE_RECORD, MAX_RECORD, &text, &size, NULL);
    *there = result == 0;
    if (result)
        return result == -ENOENT ? 0 : result;
    unsigned line = 1;
    const char *at = text;
    if (strncmp(text, HEAD, strlen(HEAD)) != 0)
        result = -EINVAL;
    else
        for (at += strlen(HEAD), line++; result == 0 && at < text + size; line += result == 0)
            result = take_row(&at, record);
    if (result == -EINVAL)
        result = err_set(EINVAL,
                         "%s/%s: line %u is none of a record of what was woven: remove the file; "
                         "--undo then needs the --rules that were woven",
                         tree->name, WEAVE_RECORD, line);
    free(text);
    if (result)
        weave_record_free(record);
    return result;
}

int weave_record_write_beside(const struct weave_tree *tree, const struct weave_record *record,
                              char **temporary)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    *temporary = NULL;
    if (!out)
        return err_no_memory();
    fputs(HEAD, out);
    for (size_t i = 0; i < record->count; i++)
        fprintf(out, "%016" PRIx64 " %s\n", record->rows[i].sum, record->rows[i].name);
    bool good = !ferror(out);
    int result = fclose(out) == 0 && good ? 0 : err_no_memory();
    if (result == 0)
        result = weave_tree_write_beside(tree, WEAVE_RECORD, text, size, NULL, temporary);
    free(text);
    return result;
}

void weave_record_free(struct weave_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        free(record->rows[i].name);
    free(record->rows);
    *record = (struct weave_record){0};
}
