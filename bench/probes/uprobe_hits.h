/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BENCH_UPROBE_HITS_H
#define OPTRAIL_BENCH_UPROBE_HITS_H

#include <stdint.h>

/* A counting eBPF program on one instruction of this process. */
struct uprobe_hits;

/* Attaches to the instruction at `address`; `semaphore`, if not NULL, is raised meanwhile (both in
 * this program's own file). Negative errno with the message when that cannot be done. Owned by the
 * caller. */
int uprobe_hits_open(const void *address, const volatile void *semaphore,
                     struct uprobe_hits **uprobe);

/* How often the program has run. */
uint64_t uprobe_hits_count(const struct uprobe_hits *uprobe);

/* Detaches and frees; NULL is allowed. */
void uprobe_hits_close(struct uprobe_hits *uprobe);

#endif
