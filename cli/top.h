/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TOP_H
#define OPTRAIL_TOP_H

#include "analysis.h"
#include "event_source.h"

/*
 * The live screen of `optrail attach --top`: once an interval it takes snapshots and shows them, on
 * a terminal as a page with keys, elsewhere as plain lines. One in a process; all calls from one
 * thread.
 */
struct top_options {
    double interval_seconds;
    void *context; /* weak */
    /* Makes the report of what the span covers, as it stands now; `seconds` is how long the span
     * lasted. */
    int (*snapshot)(void *context, enum analysis_span span, double seconds, struct report **report);
};

struct top;

/* Takes the terminal if there is one. Call it after interrupt_install(). Owned by the caller. */
int top_open(const struct top_options *options, struct top **top);

/* Gives the terminal back. NULL is fine. */
void top_close(struct top *top);

/* Looks at the clock and the keys, and draws if need be; to be called some ten times a second. The
 * key `q` does what SIGINT does (interrupt.h). Negative errno with the message: standard output
 * cannot be written. */
int top_tick(struct top *top);

/* A feed that hands on what `inner` gives and ticks meanwhile. Weak: lives as long as `top`. */
struct event_feed *top_feed(struct top *top, struct event_feed *inner);

#endif
