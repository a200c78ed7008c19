/* SPDX-License-Identifier: MIT */
#include "option_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_log.h"
#include "inject.h"

static uint64_t *number_of(void *options, const struct option_row *row)
{
    return (uint64_t *)(void *)((char *)options + row->field);
}

/* "fsync|fdatasync|none" */
static const char *join_choices(const struct option_row *row, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < OPTION_CHOICES_MAX && row->choices[i] && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? "|" : "", row->choices[i]);
    return buffer;
}

void option_rows_help(const struct option_row *rows, size_t row_count)
{
    for (size_t i = 0; i < row_count; i++) {
        const struct option_row *row = &rows[i];
        char choices[64], left[96], preset[64] = "";
        const char *argument = row->kind == OPTION_CHOICE
                                   ? join_choices(row, choices, sizeof(choices))
                                   : row->argument;
        snprintf(left, sizeof(left), "--%s%s%s", row->name, argument ? " " : "",
                 argument ? argument : "");
        if (row->kind == OPTION_CHOICE)
            snprintf(preset, sizeof(preset), " (%s)", row->choices[row->preset]);
        else if (row->kind == OPTION_TIME)
            snprintf(preset, sizeof(preset), " (%gs)", (double)row->preset / 1e9);
        else if (row->kind == OPTION_NUMBER || row->kind == OPTION_BYTES)
            snprintf(preset, sizeof(preset), " (%llu)", (unsigned long long)row->preset);
        printf("  %-36s %s%s\n", left, row->text, preset);
    }
}

static int parse_number(const struct option_row *row, const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (row->kind == OPTION_BYTES && end != text && *end) {
        static const char units[] = "KMG";
        const char *unit = strchr(units, *end);
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        if (!unit || value > UINT64_MAX >> shift)
            errno = EINVAL;
        value <<= shift;
        end++;
    }
    if (end == text || *end || *text == '-' || errno || value < row->minimum ||
        value > row->maximum)
        return log_error("--%s %s: it must be a number from %llu to %llu", row->name, text,
                         (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    *number = value;
    return 0;
}

static int parse_choice(const struct option_row *row, const char *text, uint64_t *number)
{
    for (uint64_t i = 0; i < OPTION_CHOICES_MAX && row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *number = i;
            return 0;
        }
    }
    char choices[64];
    return log_error("--%s %s: it must be one of %s", row->name, text,
                     join_choices(row, choices, sizeof(choices)));
}

static int parse_value(void *options, const struct option_row *row, const char *text)
{
    uint64_t *number = number_of(options, row);
    switch (row->kind) {
    case OPTION_NUMBER:
    case OPTION_BYTES:
        return parse_number(row, text, number);
    case OPTION_CHOICE:
        return parse_choice(row, text, number);
    case OPTION_TIME:
        if (inject_parse_time(text, number) == 0)
            return 0;
        return log_error("--%s %s: it must look like 200us, 1ms or 2s, at most 60s", row->name,
                         text);
    case OPTION_TEXT:
        *(const char **)(void *)number = text;
        return 0;
    case OPTION_SWITCH:
        *number = 1;
        return 0;
    case OPTION_CALL:
        return row->set(text);
    }
    return -1;
}

static void set_preset(void *options, const struct option_row *row)
{
    if (row->kind == OPTION_TEXT)
        *(const char **)(void *)number_of(options, row) = NULL;
    else if (row->kind != OPTION_CALL)
        *number_of(options, row) = row->preset;
}

static const struct option_row *find(const struct option_row *rows, size_t row_count,
                                     const char *argument)
{
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(argument + 2, rows[i].name) == 0)
            return &rows[i];
    }
    return NULL;
}

int option_rows_parse(const struct option_row *rows, size_t row_count, void *options, int argc,
                      char **argv, const char **words, int word_limit)
{
    int word_count = 0;
    for (size_t i = 0; i < row_count; i++)
        set_preset(options, &rows[i]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return -2;
        if (strncmp(argv[i], "--", 2) != 0) {
            if (word_count == word_limit)
                return log_error("%s: not expected here; see --help", argv[i]);
            words[word_count++] = argv[i];
            continue;
        }
        const struct option_row *row = find(rows, row_count, argv[i]);
        if (!row)
            return log_error("%s: no such option; --help lists them", argv[i]);
        const char *text = NULL;
        if (row->kind != OPTION_SWITCH && !(text = argv[++i]))
            return log_error("--%s: its argument is missing", row->name);
        if (parse_value(options, row, text) != 0)
            return -1;
    }
    return word_count;
}
