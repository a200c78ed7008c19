/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_OUT_H
#define OPTRAIL_HTML_OUT_H

#include <stdio.h>

#include "report.h"

/* What the pages are made of: html.c is of a report, html_diff.c of a comparison. Texts come from
 * files of others, anything may be in them: all that are handed over here are escaped by the
 * callee, unless it says otherwise. */

/* The page up to its first section, and its end. */
void html_page_begin(const char *title, const char *subtitle, FILE *out);
void html_page_end(FILE *out);
/* "ceph-osd 0": what the report is of. */
void html_title(const struct report *report, char *title, size_t size);

/* The begin of a section with its heading. Both are our own words, not escaped. It ends with
 * "</section>". */
void html_section(const char *id, const char *title, FILE *out);
void html_paragraph(const char *class_name, const char *text, FILE *out);

/* A table that scrolls by itself on a narrow screen. `heads` are our own words, ended by NULL: one
 * that begins with '#' is of a column of numbers, an empty one of a picture. */
void html_table_begin(const char *label, const char *const *heads, FILE *out);
void html_table_end(FILE *out);

/* Cells of a table: the row's name, a text, a duration, a share in percent. */
void html_name_cell(const char *name, FILE *out);
void html_text_cell(const char *text, FILE *out);
void html_duration_cell(uint64_t ns, FILE *out);
void html_share_cell(double share, FILE *out);
void html_count_cell(uint64_t count, FILE *out);
/* Two bars, of fractions of the cell. */
void html_meter_cell(double all, double tail, FILE *out);

/* The begin and the end of a picture; `text` says what is in it. Plots are `width` wide and scroll
 * by themselves on a narrow screen. */
void html_plot_begin(const char *text, int width, int height, FILE *out);
void html_plot_end(FILE *out);

/* What fits beside another plot, and what has the page's width. */
#define HTML_WIDE 960
#define HTML_HALF 600

#endif
