/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALE_TABLE_H
#define OPTRAIL_SCALE_TABLE_H

#include <stdio.h>

#include "scaling.h"

/*
 * A table of measurements, as people keep them: a row is a depth, ops a second, and perhaps a mean
 * latency, parted by blanks, tabs, commas, semicolons or bars. A line of column titles may say
 * which column is which and the latency's unit (milliseconds without it). A line of other words is
 * a heading and begins a new series; of two headings in a row the first is one for all that follow.
 * Lines that begin with # and are no column titles are comments.
 */

/* Reads the table and adds its series. `name`: of the file, for messages. -EBADMSG with file, line
 * and what is wrong: a row that is no row, figures that are not above 0, no rows at all, too many.
 */
int scale_table_read(FILE *in, const char *name, struct scaling *scaling);

#endif
