/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_FEED_H
#define OPTRAIL_SAMPLE_FEED_H

#include "merged_feed.h"
#include "sample_capture.h"

/*
 * Samples of threads among the events of a merged feed, each at its end: what is recorded. A stack
 * is told when it is new, and again every two seconds while it is met; so is a thread's name.
 */
struct sample_texts;

struct sample_feed {
    struct merged_feed *merged;     /* weak */
    struct sample_capture *capture; /* weak */
    struct sample_texts *texts;     /* owned; stacks and names by number */
    struct told_texts told;         /* owned */
    uint32_t kinds;                 /* bit set of enum sample_kind */
    uint64_t samples;               /* handed over */
    uint64_t stacks_left_out;       /* samples without a stack, for there was no room for more */
};

/* Stacks of samples have numbers of their own beside those of lock waits. */
#define SAMPLE_FEED_STACKS 0x40000000u

/* `feed` must stay where it is, and like the capture outlive `merged`, at whose end the capture is
 * finished. -ENOMEM with the message; freed by sample_feed_free, also then. */
int sample_feed_join(struct sample_feed *feed, struct merged_feed *merged,
                     struct sample_capture *capture, uint32_t kinds);
void sample_feed_free(struct sample_feed *feed);

#endif
