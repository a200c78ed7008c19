/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_PLOTS_H
#define OPTRAIL_HTML_PLOTS_H

#include <stdbool.h>
#include <stdio.h>

#include "flame_tree.h"
#include "report.h"

/* Pictures of the pages, apart from the sections that they stand in. */

/* What heat maps beside each other have in common, so that they can be compared. */
struct html_heat_scale {
    size_t first, end;      /* rows in which there is anything */
    double most;            /* ops a ns, in the fullest cell */
    uint64_t span_ns;       /* time, from left to right */
    const uint64_t *low_ns; /* of the rows; weak */
    size_t row_count;
};

/* Widens the scale (zeros: of nothing yet) so that the heat map has room on it; false where it has
 * no ops, or other rows. */
bool html_heat_widen(struct html_heat_scale *scale, const struct report_heat *heat);

/* The picture, and its figures as a table that opens. */
void html_heat_picture(const struct report_heat *heat, const struct html_heat_scale *scale,
                       const char *label, int width, FILE *out);

/* A line of the percentile plot. */
struct html_curve {
    const char *name; /* weak */
    const struct report_quantile *points;
    size_t count;
    unsigned look; /* 0 to 3: its colour and dashes */
    bool unnamed;  /* not in the legend: another line of the same look is */
};

/* The curves on common axes; nothing without any. */
void html_curves_picture(const struct html_curve *curves, size_t count, const char *label,
                         int width, FILE *out);

/* How many ops took how long, by powers of two, with a line at `split_ns` (0: none). */
void html_histogram_picture(const struct report_op *op, uint64_t split_ns, int width, FILE *out);

/* A flame graph, by flame_svg.c; the tree is finished here. `label`: for those who cannot see it;
 * our own words. Negative errno with the message. */
int html_flame_picture(struct flame_tree *tree, const char *label, FILE *out);

/* Adds a path of `count` names to a side of the tree. Negative errno with the message. */
int html_flame_add(struct flame_tree *tree, unsigned side, const char *const *names, size_t count,
                   struct flame_sums sums);

#endif
