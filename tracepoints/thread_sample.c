/* SPDX-License-Identifier: MIT */
#include "thread_sample.h"

#define IDLE true
#define BUSY false

const struct sample_reason_row sample_reason_rows[SAMPLE_REASON_COUNT] = {
#define OPTRAIL_SAMPLE_REASON(name, text, idle) {text, idle},
#include <optrail/sample_reasons.def>
#undef OPTRAIL_SAMPLE_REASON
};

static struct optrail_event event_of(const struct thread_sample *sample, enum point point,
                                     uint32_t stack, uint64_t arg0, uint64_t arg1)
{
    return (struct optrail_event){.time_ns = sample->end_ns,
                                  .key = stack,
                                  .arg0 = arg0,
                                  .arg1 = arg1,
                                  .pid = sample->pid,
                                  .tid = sample->tid,
                                  .point = (uint16_t)point};
}

size_t thread_sample_events(const struct thread_sample *sample, struct optrail_event *events)
{
    size_t count = 0;
    events[count++] =
        event_of(sample, POINT_sample_taken, sample->stack, sample->spent_ns,
                 (uint64_t)sample->kind << 48 | (uint64_t)sample->reason << 32 | sample->weight);
    if (sample->waker_tid || sample->waker_stack)
        events[count++] = event_of(sample, POINT_sample_woken, sample->waker_stack,
                                   sample->waker_pid, sample->waker_tid);
    return count;
}

bool thread_sample_take(struct thread_sample *sample, const struct optrail_event *event)
{
    if (event->point == POINT_sample_woken) {
        sample->waker_stack = (uint32_t)event->key;
        sample->waker_pid = (uint32_t)event->arg0;
        sample->waker_tid = (uint32_t)event->arg1;
        return true;
    }
    if (event->point != POINT_sample_taken)
        return false;
    *sample = (struct thread_sample){.end_ns = event->time_ns,
                                     .spent_ns = event->arg0,
                                     .pid = event->pid,
                                     .tid = event->tid,
                                     .stack = (uint32_t)event->key,
                                     .weight = (uint32_t)event->arg1,
                                     .kind = (uint16_t)(event->arg1 >> 48),
                                     .reason = (uint16_t)(event->arg1 >> 32)};
    uint64_t all;
    return sample->kind < SAMPLE_KIND_COUNT && sample->reason < SAMPLE_REASON_COUNT &&
           sample->weight > 0 && sample->spent_ns <= sample->end_ns &&
           !__builtin_mul_overflow(sample->spent_ns, sample->weight, &all);
}

uint64_t thread_sample_begin(const struct thread_sample *sample)
{
    return sample->kind == SAMPLE_ON_CPU ? sample->end_ns : sample->end_ns - sample->spent_ns;
}
