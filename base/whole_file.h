/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WHOLE_FILE_H
#define OPTRAIL_WHOLE_FILE_H

#include <stddef.h>

/* Writes the file anew: beside it first, so that the name changes hands at once and what was there
 * stays when the disk is full. Through a link; what is no file (/dev/null, a pipe) is written to. 0
 * or a negative errno, without a message. */
int whole_file_write(const char *file, const char *text, size_t size);

#endif
