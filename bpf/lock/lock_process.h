/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_PROCESS_H
#define OPTRAIL_LOCK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_wait.h"
#include "process_maps.h"
#include "target.h"
#include "unwind.h"

#include "lock_record.h"

/* A process whose waits are captured, as user space sees it. */
struct lock_tid {
    uint32_t inner; /* as the process itself names the thread */
    uint32_t tid;   /* as we do */
};

/* One that has ended. */
struct ended_tid {
    uint32_t inner, tid;
    uint64_t time_ns;
};
#define ENDED_TIDS 4096 /* remembered; of two that fall into one place the later one */

struct watched_process {
    struct target target;
    struct unwinder *unwinder; /* owned */
    struct lock_tid *tids;     /* owned; its threads, by their inner number, as of tids_ns */
    size_t tid_count, tid_capacity;
    uint64_t tids_ns;
    struct ended_tid *ended_tids; /* owned; ENDED_TIDS */
    uint64_t refreshed_ns;        /* when its mappings were read again */
    uint64_t seen_ns;             /* when it was still there, as far as it was looked at */
    uint64_t exit_ns;  /* when the last of its threads that have ended did; 0: none has */
    uint64_t ended_ns; /* when it was noticed that it has */
    bool nested;       /* it numbers its threads otherwise than we do: a container */
    bool ended;        /* or has become another program */
    bool replaced;     /* of these: it has become another one */
};

/* Negative errno with the message: -ESRCH. */
int watched_process_open(pid_t pid, bool stacks, struct watched_process *process);
void watched_process_close(struct watched_process *process);

/* The one of this number (as we number it); NULL: none of them is. */
struct watched_process *watched_process_find(struct watched_process *processes, size_t count,
                                             uint32_t pid);

void watched_process_exit(struct watched_process *process, const struct lock_exit *record);

/* When it ended: by the kernel's word where its last thread's end was seen, else when that was
 * noticed. Only of one that has. */
uint64_t watched_process_end_ns(const struct watched_process *process);

/* The thread that the process named so at `time_ns`: its number here, 0 when there was none any
 * more. The list of threads is read again when it is not there, but not more often than twice a
 * second: in between an unknown thread is believed in. */
uint32_t watched_process_tid(struct watched_process *process, uint32_t inner, uint64_t time_ns,
                             uint64_t now);

/* What the programs are told of a process: where its code lies. -ENOMEM with the message. */
int watched_process_facts(const struct process_maps *maps, struct lock_process *facts);

#endif
