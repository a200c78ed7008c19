/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_KERNEL_SYMBOLS_H
#define OPTRAIL_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's functions by address, from /proc/kallsyms. */
struct kernel_symbols {
    struct kernel_symbol *rows; /* owned; by address */
    size_t count, capacity;
    char *names; /* owned */
    size_t names_size, names_capacity;
};

/* Reads them. Where the kernel hides its addresses (kptr_restrict) there are none, and that is no
 * failure. -ENOMEM with the message. */
int kernel_symbols_read(struct kernel_symbols *symbols);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* The name of the function that an address lies in; weak; NULL: not known. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);

#endif
