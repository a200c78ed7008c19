/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIVE_LOCKS_H
#define OPTRAIL_LIVE_LOCKS_H

#include "live_group.h"

/*
 * Contended waits of running processes, and their ops where they are storage daemons that can be
 * probed.
 */
struct live_locks_options {
    const pid_t *pids; /* weak; of other processes, whose locks alone are looked at */
    size_t pid_count;
    const struct live_group_options *group; /* weak; NULL: no daemons */
    double seconds;                         /* 0: until *stop is set */
    uint32_t one_in;          /* of so much of the time waits are captured; 0, 1: all of it */
    const volatile int *stop; /* weak */
};

/* Watches until the time is over, and makes the report, which the caller owns. Negative errno with
 * the message. */
int live_locks_run(const struct live_locks_options *options, struct report **report);

#endif
