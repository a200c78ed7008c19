/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HTML_PARTS_H
#define OPTRAIL_HTML_PARTS_H

#include <stdio.h>

#include "flame_tree.h"
#include "report.h"

/* The sections of a report's page, in files by subject; each writes its own, or nothing when the
 * report has nothing of it. What they draw stands beside it as a table: for those who cannot see
 * it, and to copy. */
void html_verdict(const struct report *report, FILE *out);
void html_heat(const struct report *report, FILE *out);
void html_curves(const struct report *report, FILE *out);
void html_stages(const struct report *report, FILE *out);
void html_tails(const struct report *report, FILE *out);
void html_locks(const struct report *report, FILE *out);
void html_queues(const struct report *report, FILE *out);
/* Graphs of all stages and of the waits for locks. Negative errno with the message. */
int html_flame(const struct report *report, FILE *out);
void html_slowest(const struct report *report, FILE *out);
void html_peers(const struct report *report, FILE *out);
void html_figures(const struct report *report, FILE *out);
void html_facts(const struct report *report, FILE *out);

/* Stages of a report, below their op type, into a side of the tree. */
int html_flame_stages(const struct report *report, unsigned side, struct flame_tree *tree);

/* A list of evidence and options below a verdict. */
void html_verdict_details(const struct report_verdict *verdict, FILE *out);

#endif
