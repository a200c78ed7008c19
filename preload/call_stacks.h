/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CALL_STACKS_H
#define OPTRAIL_CALL_STACKS_H

#include <stdint.h>

/*
 * Call stacks of the calling thread, by number. Unwound by libgcc's _Unwind_Backtrace, which finds
 * a frame's table through _dl_find_object (glibc 2.35): no lock is taken and no memory allocated,
 * also while another thread is in dlopen. libunwind's would take the loader's lock there, and one
 * of its own. What is costly is done once: a thread remembers the stacks it has unwound, and where
 * on them each return address lies; a stack whose return addresses are still there is the same.
 */

/* The number of the caller's stack, above 0; 0: it could not be had. Tells it by stack.define if
 * somebody listens and it was not told for a second. Uses some 8 KiB of stack the first time. Not
 * to be called from within itself: a signal handler must not, if it interrupts one. */
uint32_t call_stack_here(uint64_t now_ns) __attribute__((visibility("hidden")));

/* Makes the unwinder do what it does at its first use only. Once, in the constructor. */
void call_stacks_prepare(void) __attribute__((visibility("hidden")));

#endif
