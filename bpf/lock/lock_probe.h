/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_PROBE_H
#define OPTRAIL_LOCK_PROBE_H

#include "lock_capture.h"
#include "lock_process.h"
#include "stack_layout.h"

struct lock_bpf; /* the skeleton */
struct ring_buffer;

/* The programs, loaded for a set of processes. */
struct lock_probe {
    struct lock_bpf *skeleton;
    struct ring_buffer *ring;
    struct bpf_link *links[8]; /* owned */
    size_t link_count;
    size_t process_count;                    /* ever added */
    uint64_t last_waits, last_kept, last_ns; /* of the last look at the rate */
    uint64_t sampled_since_ns;
};

/* Loads the programs. `record` gets each record of the ring. Closed by lock_probe_close, also after
 * a failure. Negative errno with the message. */
typedef int lock_record_function(void *context, void *record, size_t size);
int lock_probe_load(struct lock_probe *probe, const struct lock_capture_options *options,
                    lock_record_function *record, void *context);

/* Those that the loaded programs know stacks by. */
struct stack_tables lock_probe_tables(const struct lock_probe *probe);

/* The process's waits are told from the moment of attaching, or from now on. */
int lock_probe_add(struct lock_probe *probe, const struct watched_process *process);
void lock_probe_remove(struct lock_probe *probe, const struct watched_process *process);

int lock_probe_attach(struct lock_probe *probe);
void lock_probe_detach(struct lock_probe *probe);
void lock_probe_close(struct lock_probe *probe);

/* Forgets what threads were doing: once detached, the ends of their waits are not seen. The
 * programs must have been out for a while. */
void lock_probe_forget(struct lock_probe *probe);

/* Whether waits that begin are told, or only the ends of those that have begun. */
void lock_probe_let_begin(struct lock_probe *probe, bool begin);

/* How many threads wait for locks now, and for how long the longest has, in ns. */
uint64_t lock_probe_waiting(const struct lock_probe *probe, uint64_t now, uint64_t *longest);

/* Adds what the kernel has spent in the programs. */
void lock_probe_spent(const struct lock_probe *probe, struct lock_capture_spent *spent);

/* Adds up the counters of all CPUs. */
int lock_probe_counters(const struct lock_probe *probe, uint64_t counters[LOCK_COUNTERS]);

/* Looks at the rate of waits since the last look, and sets from which length on they are sampled.
 * `rate`: how many a second may come up. Returns whether they are. */
bool lock_probe_adapt(struct lock_probe *probe, uint32_t rate, uint64_t now);

/* The waits that are under way: calls `record` with each, as unfinished. */
int lock_probe_unfinished(struct lock_probe *probe, uint64_t now, lock_record_function *record,
                          void *context);

#endif
