/* SPDX-License-Identifier: MIT */
#include "stack_table.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define ROWS  65536u /* a power of two; at most three quarters are used */
#define BYTES (64u << 20)

struct stack_row {
    uint32_t pid;
    uint32_t number;
    char *frames; /* owned; NULL: the row is free */
};

static struct stack_row *row_of(const struct stack_table *table, uint32_t pid, uint32_t number)
{
    uint64_t hash = ((uint64_t)pid << 32 | number) * 0x9e3779b97f4a7c15ull;
    for (size_t i = hash >> 48;; i++) {
        struct stack_row *row = &table->rows[i % ROWS];
        if (!row->frames || (row->pid == pid && row->number == number))
            return row;
    }
}

int stack_table_define(struct stack_table *table, uint32_t pid, uint32_t number, const char *frames)
{
    if (!table->rows && !(table->rows = calloc(ROWS, sizeof(*table->rows))))
        return err_no_memory();
    struct stack_row *row = row_of(table, pid, number);
    if (row->frames && strcmp(row->frames, frames) == 0)
        return 0;
    size_t bytes = strlen(frames) + 1;
    if ((!row->frames && table->used >= ROWS / 4 * 3) || table->bytes + bytes > BYTES)
        return 1;
    char *copy = strdup(frames);
    if (!copy)
        return err_no_memory();
    if (row->frames)
        table->bytes -= strlen(row->frames) + 1;
    else
        table->used++;
    free(row->frames);
    *row = (struct stack_row){pid, number, copy};
    table->bytes += bytes;
    return 0;
}

const char *stack_table_find(const struct stack_table *table, uint32_t pid, uint32_t number)
{
    return table->rows ? row_of(table, pid, number)->frames : NULL;
}

void stack_table_free(struct stack_table *table)
{
    for (size_t i = 0; table->rows && i < ROWS; i++)
        free(table->rows[i].frames);
    free(table->rows);
    *table = (struct stack_table){0};
}
