/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RECORDED_PATH_H
#define OPTRAIL_RECORDED_PATH_H

#include <stddef.h>

#include "supervise.h"

/* The path file of the store that the recording names, for the points alone do not tell the stores
 * of Ceph apart; NULL: all installed ones. What cannot be read is told when it is really read.
 * `file` is room for the name. */
const char *recorded_path(char **traces, int count, struct supervision *supervision, char *file,
                          size_t size);

#endif
