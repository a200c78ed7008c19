/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CEPH_REQUESTS_H
#define OPTRAIL_CEPH_REQUESTS_H

#include "ceph_tracepoints.h"
#include "event.h"
#include "reader.h"

/*
 * From what Ceph's own tracepoints tell to events of our points.
 *
 * They identify a request by its id, which its replica's answers carry as well, and tell no end of
 * a read; BlueStore's and FileStore's tell of no request, but come in its worker's thread. So a
 * little must be remembered: of each open request, and of each thread. Both tables are of fixed
 * size; what is pushed out of them is counted.
 */
struct ceph_requests;

/* At most so many of our events come of one of Ceph's. */
enum { CEPH_EVENTS_MAX = 5 };

/* Owned by the caller. NULL with the message when memory is short. Counts go to `counts`, weak. */
struct ceph_requests *ceph_requests_new(struct read_ceph *counts);
void ceph_requests_free(struct ceph_requests *requests); /* NULL is fine */

/* Makes 0 to CEPH_EVENTS_MAX events of one, in `made`, and counts it. Returns how many. */
int ceph_requests_event(struct ceph_requests *requests, const struct ceph_event *event,
                        struct optrail_event *made);

/* Looks at an event that a process told by optrail's points: counts->beside_ours when it begins an
 * op in a process whose requests Ceph's own tracepoints told before. */
void ceph_requests_beside(struct ceph_requests *requests, const struct optrail_event *event);

#endif
