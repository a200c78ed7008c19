/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_PROCESS_H
#define OPTRAIL_LOCK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_wait.h"
#include "target.h"
#include "unwind.h"

#include "lock_record.h"

/* A process whose waits are captured, as user space sees it. */
struct lock_tid {
    uint32_t inner; /* as the process itself names the thread */
    uint32_t tid;   /* as we do */
};

struct watched_process {
    struct target target;
    struct unwinder *unwinder; /* owned */
    struct lock_tid *tids;     /* owned; its threads, by their inner number, as of tids_ns */
    size_t tid_count, tid_capacity;
    uint64_t tids_ns;
    uint64_t refreshed_ns; /* when its mappings were read again */
    bool nested;           /* it numbers its threads otherwise than we do: a container */
    bool ended;            /* or has become another program */
};

/* Negative errno with the message: -ESRCH. */
int watched_process_open(pid_t pid, bool stacks, struct watched_process *process);
void watched_process_close(struct watched_process *process);

/* What is known of a thread by its inner number: its number here, 0 when there is no such thread.
 * The list of threads is read again when it is not there, but not more often than twice a second:
 * in between an unknown thread is believed in. */
uint32_t watched_process_tid(struct watched_process *process, uint32_t inner, uint64_t now);

/* What the programs are told of it: where its code lies. */
int watched_process_facts(const struct watched_process *process, struct lock_process *facts);

#endif
