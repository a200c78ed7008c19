/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_FUNCTIONS_H
#define OPTRAIL_PROBE_FUNCTIONS_H

#include <stddef.h>

#include "elf_file.h"
#include "probe_map.h"

/* For each row of a probe map the first of its symbols that the program has, into `functions`
 * (`count` of them, too); of one that it lacks the address is 0. Negative errno with the message.
 */
int probe_functions_find(struct elf_file *file, const struct probe_row *const *rows, size_t count,
                         struct elf_function *functions);

#endif
