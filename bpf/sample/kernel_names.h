/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_KERNEL_NAMES_H
#define OPTRAIL_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample_probe.h"

/* The kernel's functions by the addresses that were met. Only these are asked for: to read all of
 * /proc/kallsyms takes longer than the rest of a capture's beginning. Zeroed: empty. Not for
 * several threads at once. */
struct kernel_names {
    struct kernel_name *rows; /* owned; by hash, a power of two of them */
    size_t count, room;
    size_t named; /* of `count`, those with a name */
};

void kernel_names_free(struct kernel_names *names);

/* found[i] is the name of the function that addresses[i] lies in, for at most SAMPLE_KERNEL_FRAMES
 * of them; NULL: not known. `probe` asks the kernel. Names are weak, and stay where they are until
 * kernel_names_free(). Negative errno with the message. */
int kernel_names_find(struct kernel_names *names, struct sample_probe *probe,
                      const uint64_t *addresses, size_t count, const char **found);

/* Whether the kernel told no name at all, though it was asked: it keeps them to itself. */
bool kernel_names_hidden(const struct kernel_names *names);

#endif
