/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_THREAD_SAMPLE_H
#define OPTRAIL_THREAD_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * A sample of a thread's time, and how it goes into events and comes out of them. What the rows
 * sample.taken and sample.woken of the catalogue hold is written and read here alone.
 */
enum sample_kind { SAMPLE_ON_CPU, SAMPLE_OFF_CPU, SAMPLE_RUNNABLE, SAMPLE_KIND_COUNT };

enum sample_reason {
#define OPTRAIL_SAMPLE_REASON(name, text, idle) SAMPLE_REASON_##name,
#include <optrail/sample_reasons.def>
#undef OPTRAIL_SAMPLE_REASON
    SAMPLE_REASON_COUNT
};

struct sample_reason_row {
    const char *text; /* "disk" */
    bool idle;
};

/* Indexed by enum sample_reason. */
extern const struct sample_reason_row sample_reason_rows[SAMPLE_REASON_COUNT];

/* Times are ns of CLOCK_MONOTONIC. 0 means "not known" wherever nothing else is said. */
struct thread_sample {
    uint64_t end_ns;   /* when it was told: of a sleep, when the thread was woken */
    uint64_t spent_ns; /* of one such sample: until then; on a CPU: the clock's period */
    uint32_t pid, tid;
    uint32_t stack;  /* number of a call stack of the process, kernel's frames included */
    uint32_t weight; /* how many like it it stands for, at least 1 */
    uint16_t kind;   /* enum sample_kind */
    uint16_t reason; /* enum sample_reason */
    /* who ended a sleep; tid 0: nobody that is known, or an interrupt, which the stack tells */
    uint32_t waker_pid, waker_tid;
    uint32_t waker_stack;
};

/* The sample as sample.taken and, when it is known who woke the thread, sample.woken: both at its
 * end, from its thread. Returns how many. */
#define THREAD_SAMPLE_EVENTS 2
size_t thread_sample_events(const struct thread_sample *sample, struct optrail_event *events);

/* Takes sample.taken, which begins a new sample, or sample.woken, which tells more of it. False:
 * the event holds what no sample can hold (a kind or reason that there is none of, more time than
 * there was before it), or is none of these. */
bool thread_sample_take(struct thread_sample *sample, const struct optrail_event *event);

/* When what it tells began: a tick of the clock is a moment. */
uint64_t thread_sample_begin(const struct thread_sample *sample);

#endif
