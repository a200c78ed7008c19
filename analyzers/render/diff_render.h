/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DIFF_RENDER_H
#define OPTRAIL_DIFF_RENDER_H

#include <stdio.h>

#include "report_diff.h"

/* What changed, for people and for programs (docs/diff.md lists the keys). `width`: columns; 0:
 * 100. `all`: rows without a change too. Negative errno with the message when it cannot be written.
 */
int render_diff_text(const struct report_diff *diff, int width, bool all, FILE *out);
int render_diff_json(const struct report_diff *diff, FILE *out);

#endif
