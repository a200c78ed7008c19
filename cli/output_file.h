/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OUTPUT_FILE_H
#define OPTRAIL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Writes something to a stream. Negative errno with the message when that fails. */
typedef int output_writer(const void *context, FILE *out);

/* Whether "-" is meant. */
bool output_is_standard(const char *file);

/* Makes the file anew, when all of it is made and there is room for it: else what was there stays.
 * What `write` returns, or another negative errno; the message names the file. */
int output_file_write(const char *file, output_writer *write, const void *context);

#endif
