/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROCESS_FILE_H
#define OPTRAIL_PROCESS_FILE_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Opens a small text file of another process for reading, by the absolute path by which that
 * process knows it: below the process's own root, symbolic links included. The process may be
 * anybody's, and root reads here by paths of that one's choice. So nothing but a regular file is
 * ever opened (a FIFO would keep us waiting, a device may act when it is opened), none that is
 * larger than PROCESS_FILE_SIZE, and none of those of /proc, which have no size and may wait. NULL,
 * without a message, for all of these and for what is not there. The caller closes it.
 */
FILE *process_file_open(pid_t pid, const char *path);

#define PROCESS_FILE_SIZE (1 << 20)

#endif
