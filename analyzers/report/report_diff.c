/* SPDX-License-Identifier: MIT */
#include "report_diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "report.h"

const char *const diff_statistic_names[DIFF_STATISTICS] = {"mean", "p50", "p90", "p99"};

int report_diff_new(struct report_diff **diff)
{
    *diff = calloc(1, sizeof(**diff));
    return *diff ? 0 : err_no_memory();
}

static void free_type(struct diff_type *type)
{
    for (size_t i = 0; i < type->row_count; i++) {
        free(type->rows[i].stage);
        free(type->rows[i].kind);
    }
    free(type->rows);
    free(type->type);
    free(type->cause);
    free(type->text);
}

void report_diff_free(struct report_diff *diff)
{
    if (!diff)
        return;
    for (size_t i = 0; i < diff->type_count; i++)
        free_type(&diff->types[i]);
    for (size_t i = 0; i < diff->warning_count; i++)
        free(diff->warnings[i]);
    for (size_t i = 0; i < diff->condition_count; i++) {
        free(diff->conditions[i].text);
        free(diff->conditions[i].why);
    }
    free(diff->types);
    free(diff->warnings);
    free(diff->conditions);
    free(diff);
}

/* One more row at the end, zeroed; NULL without memory, with the message. */
static void *one_more(void **rows, size_t count, size_t size)
{
    char *more = realloc(*rows, (count + 1) * size);
    if (!more) {
        err_no_memory();
        return NULL;
    }
    *rows = more;
    memset(more + count * size, 0, size);
    return more + count * size;
}

int report_diff_add_type(struct report_diff *diff, const char *type, struct diff_type **row)
{
    *row = one_more((void **)&diff->types, diff->type_count, sizeof(**row));
    if (!*row)
        return err_no_memory();
    diff->type_count++;
    int rc = report_set_string(&(*row)->type, type);
    if (rc == 0)
        rc = report_set_string(&(*row)->cause, "");
    return rc < 0 ? rc : report_set_string(&(*row)->text, "");
}

int report_diff_add_row(struct diff_type *type, const char *stage, const char *kind,
                        struct diff_row **row)
{
    *row = one_more((void **)&type->rows, type->row_count, sizeof(**row));
    if (!*row)
        return err_no_memory();
    type->row_count++;
    int rc = report_set_string(&(*row)->stage, stage);
    return rc < 0 ? rc : report_set_string(&(*row)->kind, kind);
}

int report_diff_add_warning(struct report_diff *diff, const char *format, ...)
{
    char **row = one_more((void **)&diff->warnings, diff->warning_count, sizeof(*row));
    va_list args;
    if (!row)
        return err_no_memory();
    va_start(args, format);
    int length = vasprintf(row, format, args);
    va_end(args);
    if (length < 0)
        return err_no_memory();
    diff->warning_count++;
    return 0;
}

int report_diff_add_condition(struct report_diff *diff, const char *text, bool holds,
                              const char *why)
{
    struct diff_condition *row =
        one_more((void **)&diff->conditions, diff->condition_count, sizeof(*row));
    if (!row)
        return err_no_memory();
    diff->condition_count++;
    row->holds = holds;
    int rc = report_set_string(&row->text, text);
    return rc < 0 ? rc : report_set_string(&row->why, why);
}
