/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_ROWS_H
#define OPTRAIL_REPORT_ROWS_H

#include <stddef.h>

/* One row more at the end of an array (`array_pointer` is a T **, whatever T is); the row is
 * zeroed. NULL with the message without memory. */
void *report_append(void *array_pointer, size_t *count, size_t size);

#endif
