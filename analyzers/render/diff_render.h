/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DIFF_RENDER_H
#define OPTRAIL_DIFF_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "report.h"
#include "report_diff.h"

/* What changed, for people and for programs (docs/diff.md lists the keys). `width`: columns; 0:
 * 100. `all`: stages that took hardly any time and did not change, too. Negative errno with the
 * message when it cannot be written. */
int render_diff_text(const struct report_diff *diff, int width, bool all, FILE *out);
int render_diff_json(const struct report_diff *diff, FILE *out);

/* The runs of a side, for forms that show more of them than what changed. All weak. */
struct diff_run {
    const char *name; /* as the user has it */
    const struct report *report;
};
struct diff_runs {
    size_t count; /* at least 1 */
    const struct diff_run *runs;
};

/* The same as a page that needs nothing else (docs/html.md), with both sides beside each other. */
int render_diff_html(const struct report_diff *diff, const struct diff_runs sides[2], bool all,
                     FILE *out);

/* "+9.8 %*", or what stands where there is nothing to say. `chance` is in the place of the star
 * when the change may be chance. Both return `text`; 64 bytes are enough. */
const char *diff_change_text(const struct diff_value *value, const char *chance, char *text,
                             size_t size);
/* "+8.1 to +11.4", the bounds in per cent; "" when nothing was tested. */
const char *diff_interval_text(const struct diff_value *value, char *text, size_t size);

/* How chance was judged, a sentence. 300 bytes are enough. Returns `text`. */
const char *diff_chance_text(const struct report_diff *diff, char *text, size_t size);

/* Whether the stage took enough of the whole op, or changed, to be shown unasked. */
bool diff_row_is_shown(const struct diff_row *row, const struct diff_row *whole);

#endif
