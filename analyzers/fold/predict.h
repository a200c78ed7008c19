/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PREDICT_H
#define OPTRAIL_PREDICT_H

#include "blame.h"

/*
 * What would be reached without a cause, by operational analysis (Denning and Buzen, 1978): each
 * server that is busy for a part U of the time at X ops a second can do X / U (the utilisation
 * law); and as many ops as are under way now cannot be done faster than each takes when nobody is
 * in its way (the bounds of a closed model). Where two bounds meet they are rounded off.
 */
struct prediction {
    double ops_per_s;  /* 0: cannot be said */
    char ceiling[160]; /* what would be the ceiling then: a queue's or a lock's name; "": the ops
                          under way are too few for any */
    double ceiling_ops_per_s;
};

struct prediction predict_without(const struct report *report, const struct blame_cause *cause);

#endif
