/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_REPORT_TRACES_H
#define OPTRAIL_REPORT_TRACES_H

#include "report_output.h"

/* Reads and analyses the traces below `count` directories, in a process of its own, and writes the
 * report as `output` says. `path`: a path file or a directory of them; NULL: the installed ones.
 * Negative errno with the message, also when a part of the data is damaged. */
int report_traces(int count, char **traces, const char *path, const struct report_output *output);

#endif
