/* SPDX-License-Identifier: MIT */
#include "throttle.h"

void throttle_init(struct throttle *throttle, uint64_t limit)
{
    *throttle = (struct throttle){.limit = limit};
    pthread_mutex_init(&throttle->lock, NULL);
    pthread_cond_init(&throttle->changed, NULL);
}

void throttle_destroy(struct throttle *throttle)
{
    pthread_cond_destroy(&throttle->changed);
    pthread_mutex_destroy(&throttle->lock);
}

static bool has_room(const struct throttle *throttle, uint64_t amount)
{
    return throttle->taken == 0 ||
           (throttle->taken < throttle->limit && amount <= throttle->limit - throttle->taken);
}

bool throttle_take(struct throttle *throttle, uint64_t amount)
{
    pthread_mutex_lock(&throttle->lock);
    while (!throttle->stopped && !has_room(throttle, amount))
        pthread_cond_wait(&throttle->changed, &throttle->lock);
    bool taken = !throttle->stopped;
    if (taken)
        throttle->taken += amount;
    pthread_mutex_unlock(&throttle->lock);
    return taken;
}

bool throttle_try_take(struct throttle *throttle, uint64_t amount)
{
    pthread_mutex_lock(&throttle->lock);
    bool taken = has_room(throttle, amount);
    if (taken)
        throttle->taken += amount;
    pthread_mutex_unlock(&throttle->lock);
    return taken;
}

void throttle_give_back(struct throttle *throttle, uint64_t amount)
{
    if (!amount)
        return;
    pthread_mutex_lock(&throttle->lock);
    throttle->taken -= amount;
    pthread_cond_broadcast(&throttle->changed);
    pthread_mutex_unlock(&throttle->lock);
}

void throttle_stop(struct throttle *throttle)
{
    pthread_mutex_lock(&throttle->lock);
    throttle->stopped = true;
    pthread_cond_broadcast(&throttle->changed);
    pthread_mutex_unlock(&throttle->lock);
}
