/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FUNCTION_BOUNDS_H
#define OPTRAIL_FUNCTION_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/*
 * Where a program's functions begin and end, as the table says that unwinds its stacks when an
 * exception is thrown (.eh_frame_hdr and .eh_frame: Linux Standard Base, 10.6). Symbols may lie,
 * and a breakpoint in the middle of an instruction changes what the program does; this table has to
 * be right, or the program could not throw. Stripped programs have it, too.
 */
struct function_bounds;

/* Reads the table. NULL in *bounds: the file has none that is understood. The file must outlive
 * the result, which the caller frees. Negative errno for want of memory only. */
int function_bounds_read(const struct elf_file *file, struct function_bounds **bounds);
void function_bounds_free(struct function_bounds *bounds); /* NULL is fine */

/* The function that holds the virtual address: from *start, included, to *end. False when there is
 * none. */
bool function_bounds_find(const struct function_bounds *bounds, uint64_t address, uint64_t *start,
                          uint64_t *end);

#endif
