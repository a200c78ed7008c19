/* SPDX-License-Identifier: MIT */
#include "lock_waits.h"

static uint32_t high(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

void lock_wait_take(struct lock_wait *wait, const struct optrail_event *event)
{
    switch (event->point) {
    case POINT_lock_waited:
        wait->end_ns = event->time_ns;
        wait->begin_ns = event->time_ns > event->arg0 ? event->time_ns - event->arg0 : 0;
        wait->lock = event->key;
        wait->pid = event->pid;
        wait->tid = event->tid;
        wait->kind = (uint16_t)high(event->arg1);
        wait->stack = (uint32_t)event->arg1;
        break;
    case POINT_lock_holder:
        wait->owner_tid = high(event->arg0);
        wait->releaser_tid = (uint32_t)event->arg0;
        wait->hold_ns = high(event->arg1);
        wait->holder_stack = (uint32_t)event->arg1;
        break;
    case POINT_lock_meanwhile:
        wait->running_ns = high(event->arg0);
        wait->runnable_ns = (uint32_t)event->arg0;
        wait->disk_ns = high(event->arg1);
        wait->asleep_ns = (uint32_t)event->arg1;
        break;
    case POINT_lock_chain:
        wait->chain_lock = event->arg0;
        wait->chain_ns = event->arg1;
        break;
    case POINT_lock_counted:
        wait->weight = high(event->arg0) ? high(event->arg0) : 1;
        wait->futex_calls = (uint32_t)event->arg0;
        wait->flags = (uint16_t)event->arg1;
        break;
    default:
        break;
    }
}
