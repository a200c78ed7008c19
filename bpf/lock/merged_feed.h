/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_MERGED_FEED_H
#define OPTRAIL_MERGED_FEED_H

#include <stdbool.h>

#include "event_source.h"

/*
 * A feed of events with what captures tell among them, in one order of time. A capture tells a wait
 * or a sample at its end only, so everything is held back for as long as that may take.
 */
#define MERGED_SOURCES 2

struct event_order;
struct merged_feed;

/* A capture: asked every so often, and once more when the inner feed has ended. Hands what it has
 * over by merged_feed_add(). Negative errno with the message. */
struct merged_source {
    void *context; /* weak */
    int (*poll)(void *context, struct merged_feed *feed);
    int (*finish)(void *context, struct merged_feed *feed);
};

struct merged_feed {
    struct event_feed feed;   /* what is asked; ends with `inner` */
    struct event_feed *inner; /* weak */
    struct merged_source sources[MERGED_SOURCES];
    size_t source_count;
    struct optrail_event *events; /* owned; of `inner`, in order */
    size_t first, count, capacity;
    struct event_order *added;   /* owned */
    struct optrail_event *taken; /* owned; out of `added` */
    size_t taken_first, taken_count;
    uint64_t polled_ns,
        polled_until_ns; /* what the captures had to tell until then is in `added` */
    uint64_t ready_ns;   /* so the inner feed, too: what happened until then can leave */
    uint64_t last_ns;    /* of what left last */
    uint64_t moved;
    bool ended;
};

/* `feed` must stay where it is, `inner` must outlive it. -ENOMEM with the message. Freed by
 * merged_feed_free, also then. */
int merged_feed_init(struct merged_feed *feed, struct event_feed *inner);
void merged_feed_free(struct merged_feed *feed);

/* At most MERGED_SOURCES; copied, its context must outlive the feed. */
void merged_feed_source(struct merged_feed *feed, const struct merged_source *source);

/* An event of a source; of a text the source keeps hold as long as the feed lives. -ENOMEM with the
 * message. */
int merged_feed_add(struct merged_feed *feed, const struct optrail_event *event);

/* Events that came behind later ones all the same, and got the time of the one before them. */
uint64_t merged_feed_moved(const struct merged_feed *feed);

/* When texts were told last, by number: a flight recorder forgets, so they are told again. */
struct told_texts {
    uint64_t *told_ns; /* owned */
    size_t count;
};

/* Whether the text of this number is to be told now: the first time, and again after a while. */
bool told_texts_due(struct told_texts *texts, uint32_t number, uint64_t time_ns);
void told_texts_free(struct told_texts *texts);

#endif
