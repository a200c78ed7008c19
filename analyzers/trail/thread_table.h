/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_THREAD_TABLE_H
#define OPTRAIL_THREAD_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * For which op each thread works: a short stack per thread. A daemon whose points tell only where
 * a thread begins with an op, and not where it leaves it, pushes for ever: beyond the depth the
 * oldest entry falls out at the bottom. Bounded in threads too: when there are too many, those
 * with nothing on their stack go, and if none has, all. Not thread-safe.
 */
#define THREAD_STACK_DEPTH 8

/* A trail, and which of the trails that lived in that slot one after the other. */
struct trail_reference {
    uint32_t slot;
    uint32_t generation;
};

struct thread_stack {
    uint64_t thread; /* pid << 32 | tid; 0: the entry is free */
    uint32_t depth;
    struct trail_reference stack[THREAD_STACK_DEPTH];
};

struct thread_table {
    struct thread_stack *entries; /* owned */
    size_t mask;
    size_t used;
};

int thread_table_init(struct thread_table *table);
void thread_table_free(struct thread_table *table);

/* The thread's stack, or NULL. */
struct thread_stack *thread_table_find(struct thread_table *table, uint32_t pid, uint32_t tid);

/* The thread's stack, made if it has none. NULL with the message: out of memory. */
struct thread_stack *thread_table_get(struct thread_table *table, uint32_t pid, uint32_t tid);

void thread_stack_push(struct thread_stack *stack, struct trail_reference trail);

/* Removes the topmost entry of this trail, if it has one. */
void thread_stack_remove(struct thread_stack *stack, struct trail_reference trail);

#endif
