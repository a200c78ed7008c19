/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROVIDER_FILE_H
#define OPTRAIL_PROVIDER_FILE_H

#include <stdbool.h>

/*
 * What is asked of a file before it becomes part of the daemon. The loader itself asks little: it
 * would wait for a FIFO's writer, run what another user has put there, and end the process with
 * SIGBUS where a file is shorter than its own tables say.
 */

/* Opens a regular file for reading, without ever waiting and whoever owns it: for a file that was
 * named by who started the daemon. Returns its descriptor, or -1. */
int optrail_provider_open(const char *path) __attribute__((visibility("hidden")));

/* The same for a file that was merely found, by its absolute path. The file and each directory up
 * to the root must belong to root or to the daemon's user, let neither group nor others write
 * (sticky or not), and be no symbolic link. So nobody else can put another file under this path
 * afterwards: it may be loaded by its path, as the loader wants it (one library is one path). */
int optrail_provider_open_trusted(const char *path) __attribute__((visibility("hidden")));

/* Whether the file is a shared object of this machine's word size and all that its tables speak of
 * is there. A file that was cut short, or is still being written from its start to its end, is
 * refused; damage inside of code and data cannot be seen. Does not move the file's position. */
bool optrail_provider_is_whole(int file) __attribute__((visibility("hidden")));

#endif
