/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DEBUG_FILE_H
#define OPTRAIL_DEBUG_FILE_H

#include <sys/types.h>

#include "stack_module.h"

/* Room for every path below: a root of at most 32 bytes, and a build-id's digits. */
#define DEBUG_FILE_PATH_MAX 256

/* Where the debug file of a build-id lies below a root ("": our own), into DEBUG_FILE_PATH_MAX
 * bytes. False: the build-id is too short for a path. */
bool debug_file_path(const struct build_id *id, const char *root, char *path);

/* Reads the module's names when that was not done yet: its own, and those of the debug file of its
 * build-id, /usr/lib/debug/.build-id/xx/yyyy.debug, where the process sees it or we do. The caller
 * holds names_lock. */
void debug_file_read_names(struct stack_module *module, pid_t pid);

/* Adds the names of an open debug file, which is closed. False: it is of another build, or no ELF
 * file. The caller holds names_lock. */
bool debug_file_add(struct stack_module *module, int fd);

#endif
