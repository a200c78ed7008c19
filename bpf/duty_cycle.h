/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DUTY_CYCLE_H
#define OPTRAIL_DUTY_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When to look and when not, for a tracer that looks for a part of the time only. All times are ns
 * of one clock.
 *
 * A slice has two parts. While tracing, every op that begins is told; while draining, those that
 * have begun are followed to their end, and none that begins is told. So each op that begins in the
 * first part is seen whole, however long it takes, as long as the second part is longer: slow ops
 * are not missing more often than quick ones, and the percentiles are those of all ops. Ops that
 * take longer than that are cut, and counted. Then it rests until the part of the time with probes
 * is what was asked for.
 */
enum duty_state { DUTY_TRACING, DUTY_DRAINING, DUTY_RESTING };

#define DUTY_LOOK_BACK 16 /* slices whose slowest op counts */

struct duty_cycle {
    enum duty_state state;
    double fraction;
    uint64_t least_ns;
    uint64_t begun_ns;   /* the first slice */
    uint64_t resumed_ns; /* this slice, or the last one */
    uint64_t paused_ns;
    uint64_t due_ns; /* when the state is to change */
    uint64_t slowest[DUTY_LOOK_BACK];
    unsigned slice;
};

/* Tracing has begun. `fraction`: above 0, below 1. `least_ns`: how long starts are told in a slice,
 * at least. */
void duty_cycle_begin(struct duty_cycle *cycle, double fraction, uint64_t least_ns,
                      uint64_t now_ns);

/* An op has taken so long. */
void duty_cycle_slowest(struct duty_cycle *cycle, uint64_t latency_ns);

/* When the next change is due: pause, stop or resume, by the state. */
uint64_t duty_cycle_due_ns(const struct duty_cycle *cycle);

/* It was done. `probed_ns`: how long probes were in, over all slices. */
void duty_cycle_paused(struct duty_cycle *cycle, uint64_t now_ns);
void duty_cycle_stopped(struct duty_cycle *cycle, uint64_t now_ns, uint64_t probed_ns);
void duty_cycle_resumed(struct duty_cycle *cycle, uint64_t now_ns);

/* How long ops' starts were told in the slice that was paused last. */
uint64_t duty_cycle_last_ns(const struct duty_cycle *cycle);

/* Whether probes are in. */
bool duty_cycle_in(const struct duty_cycle *cycle);

#endif
