/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_OUT_H
#define OPTRAIL_HTML_OUT_H

#include <stdio.h>

#include "report.h"

/* The parts of the HTML report; each writes a section, or nothing when the report has nothing of
 * it. What they draw stands beside it as a table: for those who cannot see it, and to copy. */
void html_verdict(const struct report *report, FILE *out);
void html_heat(const struct report *report, FILE *out);
void html_curves(const struct report *report, FILE *out);
void html_stages(const struct report *report, FILE *out);
void html_locks(const struct report *report, FILE *out);
void html_slowest(const struct report *report, FILE *out);
void html_facts(const struct report *report, FILE *out);
/* A graph of all stages, by flame_svg.c. Negative errno with the message. */
int html_flame(const struct report *report, FILE *out);

/* Cells of a table: a text from elsewhere, a duration, a share in percent. */
void html_text_cell(const char *text, FILE *out);
void html_duration_cell(uint64_t ns, FILE *out);
void html_share_cell(double share, FILE *out);
void html_count_cell(uint64_t count, FILE *out);

/* The begin of a section with its heading. */
void html_section(const char *id, const char *title, FILE *out);
/* The begin and the end of a picture; `text` says what is in it. Plots are `width` wide and scroll
 * by themselves on a narrow screen. */
void html_plot_begin(const char *text, int width, int height, FILE *out);
void html_plot_end(FILE *out);

#endif
