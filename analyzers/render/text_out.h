/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TEXT_OUT_H
#define OPTRAIL_TEXT_OUT_H

#include <stdbool.h>
#include <stdio.h>

#include "report.h"

/* Pieces of the text renderer. None checks `out`: its error flag is looked at in the end. */

#define TEXT_NAME 256 /* room for an escaped name */

/* Writes `text` (escaped) broken at blanks into lines of at most `width` columns, each behind
 * `indent` blanks. */
void text_paragraph(FILE *out, int indent, int width, const char *text);

/* Writes `text`, which is `columns` wide, and blanks up to `width`; `right`: the blanks first. */
void text_cell(FILE *out, const char *text, size_t columns, size_t width, int right);

/* A name, escaped, cut at its end to fit and filled up with blanks. */
void text_name(FILE *out, const char *name, size_t width);

/* "1.14 ms", to the right. */
void text_duration(FILE *out, uint64_t ns, size_t width);

/* "osd.0  ceph-osd 16.2.15, filestore, pid 5138", as far as it is known; not escaped. */
void text_source_name(const struct report *report, char *name, size_t size);

/* What a counter of losses means behind its number, "open for too long"; NULL when it is no loss,
 * or part of another; its name when it is not known. Weak. */
const char *text_meaning(const struct report_count *count);

/* Width in columns of UTF-8 text of our own (one a code point). */
size_t text_columns(const char *text);

/* The heading of an op type and the table of its stages. */
void text_op(FILE *out, const struct report *report, const struct report_op *op, int width);

/* The line about the daemon and the data, the verdicts, and at the end what was lost. */
void text_source(const struct report *report, int width, FILE *out);
void text_verdicts(const struct report *report, int width, FILE *out);
void text_losses(const struct report *report, int width, FILE *out);

/* The locks that were waited for most, and the queues. */
void text_locks(FILE *out, const struct report *report);
void text_queues(FILE *out, const struct report *report);

/* What the daemon had of the CPUs, where that is known. */
void text_cpu(FILE *out, const struct report *report, int width);

/* What slow ops have in common, two populations, stalls, rhythms: nothing when there is nothing to
 * be said. `all`: also what makes slow ops slow, and the slowest ops as waterfalls. */
void text_tails(FILE *out, const struct report *report, int width, bool all);

/* A whole report of imported evidence. */
void text_imported(const struct report *report, int width, FILE *out);

/* The slowest ops. */
void text_exemplars(FILE *out, const struct report *report, int width);

#endif
