/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_STACKS_H
#define OPTRAIL_LOCK_STACKS_H

#include "lock_process.h"
#include "stack_layout.h"

/* The call stacks that came up, by number: unwound and named as soon as they come, for the process
 * may end before anybody asks. */

/* What a stack tells of the kind of a wait, beyond the futex call. */
enum stack_hint { STACK_SAYS_NOTHING, STACK_OF_ALLOCATOR, STACK_OF_LIBC, STACK_OF_GUARD };

struct lock_stack_text {
    char *text;       /* owned; NULL: not taken yet, or nothing could be read */
    char *previous;   /* owned; what it was before it became complete, once at the most */
    uint64_t *frames; /* owned */
    uint32_t frame_count;
    uint8_t end;  /* enum unwind_end */
    uint8_t hint; /* enum stack_hint */
    bool taken;
};

struct lock_stacks {
    struct lock_stack_text *rows; /* owned; by number */
    size_t count;
    bool whole_functions;
    uint64_t taken, differ;
    uint64_t ended[UNWIND_END_COUNT];
    struct stack_tables tables; /* of the programs */
};

#define LOCK_STACK_FRAMES 256

/* Whether what a snapshot says that it has lies in the `room` bytes behind it. */
static inline bool lock_snapshot_fits(const struct lock_snapshot *snapshot, size_t room)
{
    return snapshot->skip <= room && snapshot->size <= room - snapshot->skip;
}

/* Unwinds a snapshot into at most LOCK_STACK_FRAMES program counters, the innermost first, and
 * returns how many. `stack_pointers`: those in the frames; NULL: not wanted. Of a library that has
 * been loaded since, the mappings are read again, once a second at the most; `now`:
 * CLOCK_MONOTONIC, ns. */
size_t lock_stacks_unwind(struct watched_process *process, const struct stack_snapshot *snapshot,
                          uint64_t *frames, uint64_t *stack_pointers, enum unwind_end *end,
                          uint64_t now);

/* Takes a snapshot that fits, and tells the programs how to know such a stack again. Negative errno
 * with the message for want of memory alone. */
int lock_stacks_add(struct lock_stacks *stacks, struct watched_process *process,
                    const struct lock_snapshot *taken, uint64_t now);
void lock_stacks_free(struct lock_stacks *stacks);

/* The stack of this number; NULL when it has not been taken. Weak. */
const struct lock_stack_text *lock_stacks_find(const struct lock_stacks *stacks, uint32_t number);

#endif
