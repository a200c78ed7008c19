/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIBUNWIND_STEPS_H
#define OPTRAIL_LIBUNWIND_STEPS_H

#include "process_maps.h"
#include "unwind.h"

/*
 * libunwind's remote unwinding over a snapshot, step by step. libunwind reads .eh_frame and its
 * search table from the module, the stack from the snapshot, and nothing from the process.
 */
struct libunwind_space;

/* An address so little above the snapshot is taken for one of the same stack. */
#define SNAPSHOT_REACH ((uint64_t)64 << 20)

/* One for each process; NULL for want of memory. `maps` is weak. Not thread-safe. `cache`: keeps
 * what was found for a program counter: faster, and now and then wrong. The address behind a call
 * that does not return may be the first of another function; libunwind's cache has one entry for
 * both, and gives a thread that is there the frame of the caller. */
struct libunwind_space *libunwind_space_new(struct process_maps *maps, bool cache);
void libunwind_space_free(struct libunwind_space *space); /* NULL is fine */

/* To be called when the mappings have changed. */
void libunwind_space_flush(struct libunwind_space *space);

/* Begins at the innermost frame; one walk at a time. False: libunwind will not. */
bool libunwind_begin(struct libunwind_space *space, const struct stack_snapshot *snapshot);

/* A register of the frame it stands at; false when it cannot be had: 0 then. */
bool libunwind_register(struct libunwind_space *space, enum stack_register which, uint64_t *value);

/* Goes to the caller. True, or false with how it ended. */
bool libunwind_step(struct libunwind_space *space, enum unwind_end *end);

#endif
