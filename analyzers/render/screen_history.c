/* SPDX-License-Identifier: MIT */
#include "screen_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

struct history_row {
    char *type, *stage; /* stage "": the op itself */
    uint64_t ns[SCREEN_HISTORY_LENGTH];
};

struct screen_history {
    size_t next; /* where the next interval goes */
    size_t count;
    struct history_row *rows;
};

int screen_history_new(struct screen_history **history)
{
    *history = calloc(1, sizeof(**history));
    return *history ? 0 : err_no_memory();
}

void screen_history_free(struct screen_history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < history->count; i++) {
        free(history->rows[i].type);
        free(history->rows[i].stage);
    }
    free(history->rows);
    free(history);
}

/* The number of ops of a type is kept as a stage of this name, which no path file can have. */
static const char op_count[] = "\n";

static const struct history_row *find_row(const struct screen_history *history, const char *type,
                                          const char *stage)
{
    for (size_t i = 0; i < history->count; i++)
        if (strcmp(history->rows[i].stage, stage) == 0 && strcmp(history->rows[i].type, type) == 0)
            return &history->rows[i];
    return NULL;
}

static int add_value(struct screen_history *history, const char *type, const char *stage,
                     uint64_t ns)
{
    const struct history_row *found = find_row(history, type, stage);
    size_t at = found ? (size_t)(found - history->rows) : history->count;
    if (!found) {
        struct history_row row = {.type = strdup(type), .stage = strdup(stage)};
        struct history_row *rows =
            reallocarray(history->rows, history->count + 1, sizeof(*history->rows));
        if (rows)
            history->rows = rows;
        if (!rows || !row.type || !row.stage) {
            free(row.type);
            free(row.stage);
            return err_no_memory();
        }
        history->rows[history->count++] = row;
    }
    history->rows[at].ns[history->next] += ns;
    return 0;
}

int screen_history_add(struct screen_history *history, const struct report *interval)
{
    int result = 0;

    for (size_t i = 0; i < history->count; i++)
        history->rows[i].ns[history->next] = 0;
    for (size_t i = 0; result == 0 && i < interval->op_count; i++) {
        const struct report_op *op = &interval->ops[i];
        result = add_value(history, op->type, op_count, op->count);
        if (result == 0)
            result = add_value(history, op->type, "", op->total_ns);
        for (size_t j = 0; result == 0 && j < op->stage_count; j++)
            result = add_value(history, op->type, op->stages[j].name, op->stages[j].total_ns);
    }
    history->next = (history->next + 1) % SCREEN_HISTORY_LENGTH;
    return result;
}

void screen_history_values(const struct screen_history *history, const char *type,
                           const char *stage, double *values, size_t count)
{
    const struct history_row *times = find_row(history, type, stage ? stage : "");
    const struct history_row *ops = find_row(history, type, op_count);

    for (size_t i = 0; i < count; i++) {
        size_t begin = i * SCREEN_HISTORY_LENGTH / count;
        size_t end = (i + 1) * SCREEN_HISTORY_LENGTH / count;
        double ns = 0, number = 0;
        for (size_t j = begin; ops && j < end; j++) {
            size_t at = (history->next + j) % SCREEN_HISTORY_LENGTH;
            number += (double)ops->ns[at];
            ns += times ? (double)times->ns[at] : 0;
        }
        values[i] = number > 0 ? ns / number : -1;
    }
}
