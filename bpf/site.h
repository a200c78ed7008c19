/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SITE_H
#define OPTRAIL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where in a function to put a probe. A uprobe replaces an instruction; the kernel then carries
 * the instruction out. A few kinds it emulates on the spot (on x86-64: push of a register, nop,
 * jumps, conditional jumps, calls: arch/x86/kernel/uprobes.c, branch_setup_xol_ops and, from Linux
 * 4.16 on, push_setup_xol_ops). Every other kind costs a second trap, measured at thirty times
 * the price. So the probe goes to the first instruction of an emulated kind at which the arguments
 * that we need are still where the caller put them, the stack pointer included.
 */
struct site {
    uint64_t offset; /* bytes behind the function's first one */
    bool slow;       /* single-stepped: chosen only when that was allowed */
};

/* Chooses the site in the `size` bytes of code that begin at the function's entry and hold all of
 * it, or its beginning. `registers`: bit set of (1 << enum uprobe_register) that must be intact.
 * `nth`: 0 for the first such site, 1 for the next one (several points of one function; their
 * events come in this order), ... `allow_slow`: rather the entry than nothing. -ENOTSUP with the
 * reason as the message when there is no such site. Thread-safe. */
int site_choose(const uint8_t *code, size_t size, unsigned registers, int nth, bool allow_slow,
                struct site *site);

/* Whether an instruction begins `offset` bytes behind the beginning of the function whose `size`
 * bytes of code these are: they are decoded one after the other up to there. Thread-safe. */
bool site_is_boundary(const uint8_t *code, size_t size, uint64_t offset);

/* Whether the bytes at a USDT site are what our probe library puts there: a 1-byte nop, then a
 * 5-byte one. */
bool site_is_nop_pair(const uint8_t *code, size_t size);

#endif
