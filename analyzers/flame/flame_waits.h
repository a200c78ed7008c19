/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_WAITS_H
#define OPTRAIL_FLAME_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "flame_threads.h"
#include "lock_wait.h"

/*
 * Waits and samples that are kept until it is known what op they were of: an op's type and how slow
 * it was are known at its end. Bounded; not thread-safe.
 */
#define FLAME_WAITS 65536u

enum flame_wait_source {
    FLAME_WAIT_CAPTURED, /* a contended wait with its stack */
    FLAME_WAIT_TOLD,     /* the daemon told of it; `lock.lock` is the number of its group */
    FLAME_WAIT_SAMPLE,
};

struct flame_wait {
    uint64_t op; /* its key; 0: none */
    uint32_t pid, tid;
    enum flame_wait_source source;
    union {
        struct lock_wait lock;
        struct {
            struct thread_sample sample;
            struct flame_waker chain[FLAME_CHAIN];
            uint32_t chain_count;
        };
    };
};

struct flame_waits;

/* Takes a wait that is no part of an op, or for which there was no room to wait for its op's end
 * (`early`). */
typedef int flame_wait_callback(void *context, const struct flame_wait *wait, int early);

/* Owned by the caller. Negative errno with the message. */
int flame_waits_new(flame_wait_callback *callback, void *context, struct flame_waits **waits);
void flame_waits_free(struct flame_waits *waits); /* NULL is fine */

/* Takes a wait of which its thread may tell more by the events that follow. */
int flame_waits_begin(struct flame_waits *waits, const struct flame_wait *wait);

/* The thread tells of what is not wanted: nor is what else is told of it. */
int flame_waits_skip(struct flame_waits *waits, const struct optrail_event *event);

/* Takes a wait that is known whole. */
int flame_waits_add(struct flame_waits *waits, const struct flame_wait *wait);

/* What the thread of the event told last, of that source, of which the event tells more. NULL: it
 * is not wanted, or, counted, it was not told or is not there any more. Weak, until the next call.
 */
struct flame_wait *flame_waits_last(struct flame_waits *waits, enum flame_wait_source source,
                                    const struct optrail_event *event);

/* The waits of the op, which has ended: takes them out, in no order, one a call. 1; 0: no more. */
int flame_waits_of_op(struct flame_waits *waits, uint32_t pid, uint64_t op,
                      struct flame_wait *wait);

/* Hands over what is left. */
int flame_waits_flush(struct flame_waits *waits);

/* How many events told more of a wait that was not there any more. */
uint64_t flame_waits_unpaired(const struct flame_waits *waits);

#endif
