/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STACK_TABLE_H
#define OPTRAIL_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Call stacks by process and number, as stack.define tells them. Bounded in stacks and in bytes;
 * what comes beyond is refused. Not thread-safe.
 */
struct stack_table {
    struct stack_row *rows; /* owned; NULL until the first one */
    size_t used;
    size_t bytes;
};

void stack_table_free(struct stack_table *table);

/* Copies the text; a number that is told again gets the newer one. 1 when there is no room, -ENOMEM
 * with the message. */
int stack_table_define(struct stack_table *table, uint32_t pid, uint32_t number,
                       const char *frames);

/* Its frames, weak; NULL: never told. */
const char *stack_table_find(const struct stack_table *table, uint32_t pid, uint32_t number);

#endif
