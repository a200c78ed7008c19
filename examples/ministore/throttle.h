/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_THROTTLE_H
#define MINISTORE_THROTTLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "named_lock.h"

/* A budget that is taken and given back: bytes of messages, ops in a store. One taker larger than
 * the whole budget passes when nobody else holds any of it, as in Ceph's Throttle. */
struct throttle {
    struct named_lock lock;
    pthread_cond_t changed;
    uint64_t limit;
    uint64_t taken;
    bool stopped;
};

/* `name`: of the lock inside. */
void throttle_init(struct throttle *throttle, enum lock_name name, uint64_t limit);
void throttle_destroy(struct throttle *throttle);

/* Waits for room and takes it. false: the throttle was stopped, nothing is taken. */
bool throttle_take(struct throttle *throttle, uint64_t amount);

/* Takes it if there is room. */
bool throttle_try_take(struct throttle *throttle, uint64_t amount);

void throttle_give_back(struct throttle *throttle, uint64_t amount);

/* Those who wait, now and later, get false. */
void throttle_stop(struct throttle *throttle);

#endif
