/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_DIFF_ROWS_H
#define OPTRAIL_HTML_DIFF_ROWS_H

#include "diff_render.h"

/* Tables of a comparison's page. */

/* An op type and its stages: mean before and after, how it changed, with its interval. */
void html_diff_type(const struct diff_type *type, bool all, FILE *out);
/* The op's statistics before and after. */
void html_diff_percentiles(const struct diff_type *type, FILE *out);
/* The runs beside each other, `most` of a side, and what was lost in each: a section. */
void html_diff_runs(const struct diff_runs sides[2], size_t most, FILE *out);

#endif
