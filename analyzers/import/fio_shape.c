/* SPDX-License-Identifier: MIT */
#include "fio_shape.h"

#include <stdio.h>

#define LEAP   1.4 /* from one percentile to the next, at the least */
#define STEADY 1.3 /* from one to the next beside it, at the most */

void fio_shape_add(struct fio_shape *shape, double share, double seconds)
{
    if (shape->count == FIO_SHAPE_POINTS)
        return;
    shape->points[shape->count].share = share;
    shape->points[shape->count++].seconds = seconds;
}

static double step(const struct fio_shape *shape, size_t at)
{
    double before = shape->points[at - 1].seconds;

    return before > 0 ? shape->points[at].seconds / before : 0;
}

void fio_shape_say_populations(const struct fio_shape *percentiles, struct import *import,
                               const char *source)
{
    size_t leap = 0, leaps = 0;

    /* the median's surroundings: tails leap in most runs */
    for (size_t i = 2; i + 1 < percentiles->count; i++) {
        double share = percentiles->points[i].share;
        if (share < 0.2 || share > 0.9 || step(percentiles, i) < LEAP)
            continue;
        leaps++;
        if (step(percentiles, i - 1) <= STEADY && step(percentiles, i + 1) <= STEADY)
            leap = i;
    }
    if (leaps != 1 || leap == 0)
        return;
    import_say(
        import, "populations",
        "%s: two populations of ops: %.0f %% take at most %.4g ms, and from %.0f %% on it is "
        "%.4g ms and more, with little between.",
        source, 100 * percentiles->points[leap - 1].share,
        percentiles->points[leap - 1].seconds * 1e3, 100 * percentiles->points[leap].share,
        percentiles->points[leap].seconds * 1e3);
}

void fio_shape_words(const struct fio_shape *shares, char *text, size_t size)
{
    double sum = 0;
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < shares->count && used < size; i++) {
        sum += shares->points[i].share;
        if (sum >= 0.01 && sum <= 0.99)
            used += (size_t)snprintf(text + used, size - used, "%s%.1f %% within %g ms",
                                     used ? ", " : "", 100 * sum, shares->points[i].seconds * 1e3);
    }
}
