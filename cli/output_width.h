/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_OUTPUT_WIDTH_H
#define OPTRAIL_OUTPUT_WIDTH_H

/* The columns of standard output where it is a terminal with less than the 100 that text takes
 * otherwise; 0: it is none, or has them. */
int output_width(void);

#endif
