/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_FOLLOW_H
#define OPTRAIL_TRACER_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A daemon beyond the life of its process: what its next process will have in common with it. */
struct daemon_identity {
    char *arguments; /* argv as one block; owned; NULL: could not be read */
    size_t size;
    char image[160]; /* of this process: changes when it becomes another program by exec */
};

/* -ESRCH with the message when the process is gone. */
int daemon_identity_read(pid_t pid, struct daemon_identity *identity);
void daemon_identity_free(struct daemon_identity *identity);

/* Whether the process still runs the program that it ran then. True for one that is gone: that is
 * for others to notice. */
bool daemon_identity_same_image(const struct daemon_identity *identity, pid_t pid);

/* Another process that was started with the same arguments; 0 if there is none. */
pid_t daemon_identity_find(const struct daemon_identity *identity, pid_t but_not);

#endif
