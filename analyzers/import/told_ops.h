/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TOLD_OPS_H
#define OPTRAIL_TOLD_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which ops were told before: an OSD that is asked every few seconds tells the same ones again. */
struct told_ops {
    uint64_t *rows; /* owned; 0: free; open addressing, a power of two of them */
    size_t size, count;
};

/* What tells an op from all others: not 0. The strings are what the dump has. */
uint64_t told_ops_key(const char *description, const char *begin, uint64_t latency_ns);

/* Adds it. 1: it was told before; 0: it was not; -ENOMEM with the message. */
int told_ops_add(struct told_ops *told, uint64_t key);
void told_ops_free(struct told_ops *told);

#endif
