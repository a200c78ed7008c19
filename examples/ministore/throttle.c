/* SPDX-License-Identifier: MIT */
#include "throttle.h"

void throttle_init(struct throttle *throttle, enum lock_name name, uint64_t limit)
{
    *throttle = (struct throttle){.limit = limit};
    lock_init(&throttle->lock, LOCK_KIND_MUTEX, name, 0);
    pthread_cond_init(&throttle->changed, NULL);
}

void throttle_destroy(struct throttle *throttle)
{
    pthread_cond_destroy(&throttle->changed);
    lock_destroy(&throttle->lock);
}

static bool has_room(const struct throttle *throttle, uint64_t amount)
{
    return throttle->taken == 0 ||
           (throttle->taken < throttle->limit && amount <= throttle->limit - throttle->taken);
}

bool throttle_take(struct throttle *throttle, uint64_t amount)
{
    lock_take(&throttle->lock);
    while (!throttle->stopped && !has_room(throttle, amount))
        lock_wait_room(&throttle->lock, &throttle->changed);
    bool taken = !throttle->stopped;
    if (taken)
        throttle->taken += amount;
    lock_give(&throttle->lock);
    return taken;
}

bool throttle_try_take(struct throttle *throttle, uint64_t amount)
{
    lock_take(&throttle->lock);
    bool taken = has_room(throttle, amount);
    if (taken)
        throttle->taken += amount;
    lock_give(&throttle->lock);
    return taken;
}

void throttle_give_back(struct throttle *throttle, uint64_t amount)
{
    if (!amount)
        return;
    lock_take(&throttle->lock);
    throttle->taken -= amount;
    pthread_cond_broadcast(&throttle->changed);
    lock_give(&throttle->lock);
}

void throttle_stop(struct throttle *throttle)
{
    lock_take(&throttle->lock);
    throttle->stopped = true;
    pthread_cond_broadcast(&throttle->changed);
    lock_give(&throttle->lock);
}
