/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STACK_LAYOUT_H
#define OPTRAIL_STACK_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_wait.h"
#include "unwind.h"

#include "lock_record.h"

/*
 * How the programs know a stack again. Between a stack's frames lie words that were left there by
 * calls that are over, return addresses too: a key of all words that point to code makes many
 * stacks of one. Which words the true return addresses are, unwinding tells, once; from then on the
 * programs look at these alone.
 */

/* Maps of the programs. */
struct stack_tables {
    int layouts, stacks; /* descriptors; weak */
    bool known;          /* false: there are none */
};

/* Of a stack that was unwound into `count` frames; `complete`: to its end. No places: something in
 * its first words was no usual call (a signal), or is not known. */
struct lock_layout stack_layout_make(const struct stack_snapshot *snapshot, const uint64_t *frames,
                                     const uint64_t *stack_pointers, size_t count, bool complete);

/* What the programs take the stack's return addresses for. */
uint64_t stack_layout_hash(const struct stack_snapshot *snapshot, const struct lock_layout *layout);

/* From now on stacks that are as this one have its number. Where a table has no room, they are
 * found by all of their words, as before. */
void stack_tables_tell(const struct stack_tables *tables, const struct lock_snapshot *taken,
                       const struct stack_snapshot *snapshot, const struct lock_layout *layout);

#endif
