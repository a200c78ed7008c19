/* SPDX-License-Identifier: MIT */
#include "lock_events.h"

#include "symbols.h"

static uint64_t pack(uint64_t high, uint64_t low)
{
    uint64_t most = UINT32_MAX;
    return (high < most ? high : most) << 32 | (low < most ? low : most);
}

static uint32_t high_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static uint32_t low_of(uint64_t word)
{
    return (uint32_t)word;
}

static struct optrail_event event_of(const struct lock_wait *wait, enum point point, uint64_t arg0,
                                     uint64_t arg1)
{
    return (struct optrail_event){.time_ns = wait->end_ns,
                                  .key = wait->lock,
                                  .arg0 = arg0,
                                  .arg1 = arg1,
                                  .pid = wait->pid,
                                  .tid = wait->tid,
                                  .point = (uint16_t)point};
}

size_t lock_wait_events(const struct lock_wait *wait, struct optrail_event *events)
{
    size_t count = 0;
    events[count++] = event_of(wait, POINT_lock_waited, wait->end_ns - wait->begin_ns,
                               pack(wait->kind, wait->stack));
    if (wait->owner_tid || wait->releaser_tid || wait->hold_ns || wait->holder_stack)
        events[count++] =
            event_of(wait, POINT_lock_holder, pack(wait->owner_tid, wait->releaser_tid),
                     pack(wait->hold_ns, wait->holder_stack));
    if (wait->weight > 1 || wait->futex_calls > 1 || wait->flags)
        events[count++] =
            event_of(wait, POINT_lock_counted, pack(wait->weight, wait->futex_calls), wait->flags);
    if (wait->running_ns || wait->runnable_ns || wait->disk_ns || wait->asleep_ns)
        events[count++] =
            event_of(wait, POINT_lock_meanwhile, pack(wait->running_ns, wait->runnable_ns),
                     pack(wait->disk_ns, wait->asleep_ns));
    if (wait->chain_lock)
        events[count++] = event_of(wait, POINT_lock_chain, wait->chain_lock, wait->chain_ns);
    return count;
}

struct optrail_event lock_stack_event(const struct lock_wait *wait, uint32_t stack,
                                      const char *frames)
{
    struct optrail_event event =
        event_of(wait, POINT_stack_define, (uint64_t)(uintptr_t)frames, symbols_text_depth(frames));
    event.key = stack;
    return event;
}

void lock_wait_from_event(struct lock_wait *wait, const struct optrail_event *event)
{
    switch (event->point) {
    case POINT_lock_waited:
        *wait = (struct lock_wait){
            .begin_ns = event->time_ns > event->arg0 ? event->time_ns - event->arg0 : 0,
            .end_ns = event->time_ns,
            .lock = event->key,
            .pid = event->pid,
            .tid = event->tid,
            .kind = (uint16_t)high_of(event->arg1),
            .stack = low_of(event->arg1),
            .weight = 1,
            .futex_calls = 1,
            .point = LOCK_WAIT_NO_POINT,
            .holder_point = LOCK_WAIT_NO_POINT,
        };
        break;
    case POINT_lock_holder:
        wait->owner_tid = high_of(event->arg0);
        wait->releaser_tid = low_of(event->arg0);
        wait->hold_ns = high_of(event->arg1);
        wait->holder_stack = low_of(event->arg1);
        break;
    case POINT_lock_counted:
        wait->weight = high_of(event->arg0);
        wait->futex_calls = low_of(event->arg0);
        wait->flags = (uint16_t)event->arg1;
        break;
    case POINT_lock_meanwhile:
        wait->running_ns = high_of(event->arg0);
        wait->runnable_ns = low_of(event->arg0);
        wait->disk_ns = high_of(event->arg1);
        wait->asleep_ns = low_of(event->arg1);
        break;
    case POINT_lock_chain:
        wait->chain_lock = event->arg0;
        wait->chain_ns = event->arg1;
        break;
    default:
        break;
    }
}
