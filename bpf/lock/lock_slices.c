/* SPDX-License-Identifier: MIT */
#include "lock_slices.h"

#include "clock_ns.h"

#define SLICE_NS 200000000ull

void lock_slices_begin(struct lock_slices *slices, uint32_t each, uint64_t now)
{
    *slices = (struct lock_slices){.each = each > 1 ? each : 0, .count = 1};
    if (slices->each)
        duty_cycle_begin(&slices->cycle, 1.0 / slices->each, SLICE_NS, now);
}

int lock_slices_turn(struct lock_slices *slices, struct lock_probe *probe, uint64_t now)
{
    struct duty_cycle *cycle = &slices->cycle;
    if (!slices->each || now < duty_cycle_due_ns(cycle))
        return 0;
    if (cycle->state == DUTY_TRACING) {
        lock_probe_let_begin(probe, false);
        slices->observed_ns += now - cycle->resumed_ns;
        duty_cycle_paused(cycle, now);
        return 0;
    }
    if (cycle->state == DUTY_DRAINING) {
        uint64_t longest;
        slices->cut += lock_probe_waiting(probe, now, &longest);
        duty_cycle_slowest(cycle, longest); /* so that the next slice is long enough for such */
        lock_probe_detach(probe);
        duty_cycle_stopped(cycle, now, slices->observed_ns);
        return 0;
    }
    /* not before: a program may still have been running when they were taken out */
    lock_probe_forget(probe);
    lock_probe_let_begin(probe, true);
    int error = lock_probe_attach(probe);
    slices->count++;
    duty_cycle_resumed(cycle, monotonic_ns()); /* the way in takes a while */
    return error;
}

void lock_slices_waited(struct lock_slices *slices, uint64_t length_ns)
{
    if (slices->each)
        duty_cycle_slowest(&slices->cycle, length_ns);
}

uint32_t lock_slices_weight(const struct lock_slices *slices)
{
    return slices->each ? slices->each : 1;
}

uint64_t lock_slices_observed_ns(const struct lock_slices *slices, uint64_t now)
{
    bool tracing = slices->each && slices->cycle.state == DUTY_TRACING;
    return slices->observed_ns + (tracing ? now - slices->cycle.resumed_ns : 0);
}
