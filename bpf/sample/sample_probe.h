/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_PROBE_H
#define OPTRAIL_SAMPLE_PROBE_H

#include <stdint.h>

#include "lock_process.h"
#include "sample_capture.h"
#include "stack_layout.h"

#include "sample_record.h"

struct bpf_link;
struct ring_buffer;
struct sample_bpf;

/* The programs in the kernel. */
struct sample_probe {
    struct sample_bpf *skeleton; /* owned */
    struct ring_buffer *ring;    /* owned */
    struct bpf_link **links;     /* owned */
    size_t link_count;
    size_t process_count;
    uint64_t last_ns, last_taken;
};

/* Takes a record of the ring. */
typedef int sample_record_function(void *context, void *data, size_t size);

/* Loads the programs; nothing is attached yet. Negative errno with the message; the probe is to be
 * closed then as well. */
int sample_probe_load(struct sample_probe *probe, const struct sample_capture_options *options,
                      sample_record_function *record, void *context);
/* Those that the loaded programs know stacks by. */
struct stack_tables sample_probe_tables(const struct sample_probe *probe);
/* One process more. */
int sample_probe_add(struct sample_probe *probe, const struct watched_process *process);
int sample_probe_attach(struct sample_probe *probe, const struct sample_capture_options *options);
void sample_probe_detach(struct sample_probe *probe);
void sample_probe_close(struct sample_probe *probe);

/* Sees to it that not more waits come up than are worth it; `now`: CLOCK_MONOTONIC, ns. Returns
 * whether short waits are sampled. */
bool sample_probe_adapt(struct sample_probe *probe, uint64_t now);

/* The kernel's counters, by enum lock_counter; 0 where they cannot be read. */
void sample_probe_counters(const struct sample_probe *probe, uint64_t counters[LOCK_COUNTERS]);

/* A kernel stack by its number, the innermost first; returns how many frames. */
size_t sample_probe_kernel_stack(const struct sample_probe *probe, int32_t number,
                                 uint64_t frames[SAMPLE_KERNEL_FRAMES]);

/* Asks the kernel for the names of the functions that addresses lie in, at most
 * SAMPLE_KERNEL_FRAMES of them; "" where there is none. Negative errno with the message. */
int sample_probe_name_functions(struct sample_probe *probe, const uint64_t *addresses, size_t count,
                                char names[][SAMPLE_KERNEL_NAME]);

/* Hands over the waits that have not ended at `now`, as records. */
int sample_probe_unfinished(const struct sample_probe *probe, uint64_t now,
                            sample_record_function *record, void *context);

#endif
