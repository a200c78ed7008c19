/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_DIRECTORY_H
#define OPTRAIL_TRACE_DIRECTORY_H

#include <stdbool.h>

/* Makes the directory of a new recording, and those above it that are missing. One that is there
 * already is refused, -EEXIST with the message, unless it is empty; with `force` a former recording
 * is removed first, but nothing else ever is: a recording has a hidden file that says what it is,
 * and a file in there that is no part of one is refused, too. One thread at a time. */
int trace_directory_make(const char *path, bool force);

/* Makes a directory within a recording. */
int trace_directory_add(const char *path);

/* Removes a directory with all that is in it; failures are passed over. */
void trace_directory_remove(const char *path);

#endif
