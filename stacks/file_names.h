/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FILE_NAMES_H
#define OPTRAIL_FILE_NAMES_H

#include <stdint.h>

#include "elf_image.h"

/*
 * The names of a file's functions when no process is there to ask: a trace tells of a file by its
 * path and build-id. Not thread-safe.
 */
struct file_names;

enum file_names_found {
    FILE_NAMES_FOUND,
    FILE_NAMES_MISSING,     /* there is no such file, nor a debug file of that build */
    FILE_NAMES_OTHER_BUILD, /* there is a file, of another build: it is not used */
};

/* Opens the file at the path if it is of that build, else the debug file of the build
 * (/usr/lib/debug). *names, owned by the caller, is NULL unless FILE_NAMES_FOUND. Negative errno
 * with the message for want of memory only. */
int file_names_open(const char *path, const struct build_id *id, enum file_names_found *found,
                    struct file_names **names);
void file_names_free(struct file_names *names); /* NULL is fine */

/* What an address, as the file says, lies in. */
struct file_name {
    const char *function; /* demangled, shortened for people as in symbols.h; NULL: no name. Weak,
                             as long as `names` */
    uint64_t start;       /* the function's; that of its page where it is not known */
};

/* -ENOMEM with the message. Answers are kept. */
int file_names_find(struct file_names *names, uint64_t address, struct file_name *name);

#endif
