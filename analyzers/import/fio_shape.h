/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FIO_SHAPE_H
#define OPTRAIL_FIO_SHAPE_H

#include "import_private.h"

/* The shape of latencies as fio tells it: percentiles, or how many took at most so long. */
#define FIO_SHAPE_POINTS 64

struct fio_shape {
    size_t count;
    struct {
        double share, seconds; /* share: 0 to 1 */
    } points[FIO_SHAPE_POINTS];
};

/* Points beyond the last that there is room for are left out. */
void fio_shape_add(struct fio_shape *shape, double share, double seconds);

/* Says so when the percentiles leap once between steady stretches: two kinds of ops. */
void fio_shape_say_populations(const struct fio_shape *percentiles, struct import *import,
                               const char *source);

/* "45.7 % within 2 ms, 89.3 % within 4 ms" of the bounds that tell something; "": of none. */
void fio_shape_words(const struct fio_shape *shares, char *text, size_t size);

#endif
