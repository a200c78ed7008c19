/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCREEN_PARTS_H
#define OPTRAIL_SCREEN_PARTS_H

#include "screen.h"
#include "screen_page.h"

/* Pieces of the live screen and of its plain form. */

extern const char *const screen_sort_names[SCREEN_SORT_COUNT];

/* Lines that the whole table of stages takes, with its heading. */
size_t screen_table_lines(const struct report_op *op);

/* The table in at most `lines` lines: what does not fit is summed up in the last one. */
void screen_table(const struct screen *screen, const struct report_op *op, size_t lines,
                  struct page *page);

/* The op's stages with ops, in the order of `sort`; the caller frees *order. False: no memory (the
 * message is not set: a screen without stages says enough). */
bool screen_order(const struct report_op *op, enum screen_sort sort,
                  const struct report_stage ***order, size_t *count);

/* "54.1 ms  write  client 4123 tid 77  filestore.index 48.0 ms (89 %)". */
void screen_exemplar(const struct report_exemplar *exemplar, char *text, size_t size);

/* "nothing lost", or what was. */
void screen_losses(const struct report *report, char *text, size_t size);

#endif
