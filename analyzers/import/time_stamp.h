/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TIME_STAMP_H
#define OPTRAIL_TIME_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* Reads "2015-03-25 19:41:47.150803" or "2024-12-28T10:19:26.466544+0000" (a zone is taken into
 * account, no zone is none) into ns since 1970. False: it is none, or an unset one, "0.000000". */
bool time_stamp_read(const char *text, int64_t *ns);

#endif
