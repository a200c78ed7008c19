/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TARGET_H
#define OPTRAIL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A storage daemon that runs on this host, as far as /proc tells. */
struct target {
    pid_t pid;
    uid_t uid;
    char kind[32];    /* "ceph-osd"; "" when the process is no storage daemon */
    char id[64];      /* "0" of osd.0; "" when not known */
    char version[32]; /* "16.2.15"; "" when not known */
    char store[32];   /* "filestore"; "" when not known */
    char program[64]; /* path by which the executable can always be opened: /proc/PID/exe */
    /* of the executable that was looked at, and of the process, in clock ticks since the boot:
     * target_unchanged() */
    uint64_t device, inode, started;
    int usdt_probes;    /* how many of ours it carries */
    int probe_map;      /* 1: there is a probe map for its version, 0: there is none */
    char obstacle[160]; /* why it cannot be traced; "" when it can, as far as can be told */
};

/* Fills in what there is to know of a process. -ESRCH with the message when it is gone; a process
 * that is no storage daemon is returned with an empty kind. What /proc does not let us see (another
 * user's) is left empty, and the obstacle says so. */
int target_inspect(pid_t pid, struct target *target);

/* Whether the process is still the one that was inspected, and runs the same executable: 0; -ESRCH
 * or -ESTALE with the message when it has ended or has become another program since (by exec, or
 * because its number was given to another process). */
int target_unchanged(const struct target *target);

/* Whether this process may trace others: 0, or -EPERM with the message that names the capabilities
 * that are missing. */
int target_privilege(void);

/* All storage daemons of this host in the order of their pids; the caller frees *targets. */
int target_list(struct target **targets, size_t *count);

/* The ceph-osd with this id. -ENOENT when none runs or none can be seen, -EEXIST when several do
 * (of several clusters: the message lists their pids). */
int target_find_osd(const char *id, struct target *target);

#endif
