/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_FEED_H
#define OPTRAIL_LOCK_FEED_H

#include "lock_capture.h"
#include "merged_feed.h"

/* Contended waits among the events of a merged feed, each at its end: what is recorded. */
struct lock_feed {
    struct merged_feed *merged;   /* weak */
    struct lock_capture *capture; /* weak */
    struct told_texts defined;    /* owned; stacks */
};

/* `feed` must stay where it is, and like the capture outlive `merged`, at whose end the capture is
 * finished. */
void lock_feed_join(struct lock_feed *feed, struct merged_feed *merged,
                    struct lock_capture *capture);
void lock_feed_free(struct lock_feed *feed);

#endif
