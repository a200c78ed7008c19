/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_INTERRUPT_H
#define OPTRAIL_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So long after the first signal further ones are the same wish: timeout(1) signals the process
 * and its group, and people press Ctrl-C twice. Meanwhile what was begun is brought to its end. */
#define INTERRUPT_GRACE_NS 2000000000u

/* From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned (it lives as long as the
 * program), so that what there is can be reported. Another one ends the program as usual, but for
 * those within INTERRUPT_GRACE_NS of the first, which change nothing. */
const volatile int *interrupt_install(void);

/* Sets the flag as the first of these signals does: for a key that ends what runs. */
void interrupt_request(void);

/* What the signal wanted is done: what follows goes on until the next one. */
void interrupt_met(void);

/* Whether a signal that comes now is a wish of its own: the first, whose time (CLOCK_MONOTONIC, ns)
 * goes to *first_ns, which was 0, or one after the grace. For signal handlers. */
bool interrupt_counts(_Atomic uint64_t *first_ns);

#endif
