/* SPDX-License-Identifier: MIT */
#include "thread_table.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define FIRST_CAPACITY 256
#define MAX_CAPACITY   32768

static size_t hash(uint64_t thread)
{
    uint64_t h = thread * 0x9e3779b97f4a7c15ull;
    return (size_t)(h ^ h >> 32);
}

static struct thread_stack *locate(const struct thread_table *table, uint64_t thread)
{
    size_t i = hash(thread) & table->mask;
    while (table->entries[i].thread != 0 && table->entries[i].thread != thread)
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

int thread_table_init(struct thread_table *table)
{
    table->entries = calloc(FIRST_CAPACITY, sizeof(*table->entries));
    table->mask = FIRST_CAPACITY - 1;
    table->used = 0;
    return table->entries ? 0 : err_no_memory();
}

void thread_table_free(struct thread_table *table)
{
    free(table->entries);
    table->entries = NULL;
}

/* Makes room: leaves out threads that work for nothing, and doubles the table if that alone does
 * not help and the bound allows it. */
static int make_room(struct thread_table *table)
{
    size_t busy = 0;
    for (size_t i = 0; i <= table->mask; i++)
        busy += table->entries[i].thread != 0 && table->entries[i].depth > 0;

    size_t capacity = table->mask + 1;
    if (4 * busy > capacity && capacity < MAX_CAPACITY)
        capacity *= 2;
    struct thread_table fresh = {
        .entries = calloc(capacity, sizeof(*fresh.entries)), .mask = capacity - 1, .used = 0};
    if (!fresh.entries)
        return err_no_memory();
    if (2 * busy < capacity) {
        for (size_t i = 0; i <= table->mask; i++) {
            const struct thread_stack *old = &table->entries[i];
            if (old->thread != 0 && old->depth > 0)
                *locate(&fresh, old->thread) = *old;
        }
        fresh.used = busy;
    }
    free(table->entries);
    *table = fresh;
    return 0;
}

static uint64_t thread_id(uint32_t pid, uint32_t tid)
{
    uint64_t thread = (uint64_t)pid << 32 | tid;
    return thread ? thread : UINT64_MAX; /* 0 means free */
}

struct thread_stack *thread_table_find(struct thread_table *table, uint32_t pid, uint32_t tid)
{
    struct thread_stack *entry = locate(table, thread_id(pid, tid));
    return entry->thread ? entry : NULL;
}

struct thread_stack *thread_table_get(struct thread_table *table, uint32_t pid, uint32_t tid)
{
    uint64_t thread = thread_id(pid, tid);
    struct thread_stack *entry = locate(table, thread);
    if (entry->thread)
        return entry;
    if (2 * (table->used + 1) > table->mask) {
        if (make_room(table) < 0)
            return NULL;
        entry = locate(table, thread);
    }
    table->used++;
    entry->thread = thread;
    entry->depth = 0;
    return entry;
}

void thread_stack_push(struct thread_stack *stack, struct trail_reference trail)
{
    if (stack->depth == THREAD_STACK_DEPTH) {
        memmove(&stack->stack[0], &stack->stack[1],
                (THREAD_STACK_DEPTH - 1) * sizeof(stack->stack[0]));
        stack->depth--;
    }
    stack->stack[stack->depth++] = trail;
}

void thread_stack_remove(struct thread_stack *stack, struct trail_reference trail)
{
    for (uint32_t i = stack->depth; i-- > 0;) {
        if (stack->stack[i].slot != trail.slot || stack->stack[i].generation != trail.generation)
            continue;
        memmove(&stack->stack[i], &stack->stack[i + 1],
                (stack->depth - i - 1) * sizeof(stack->stack[0]));
        stack->depth--;
        return;
    }
}
