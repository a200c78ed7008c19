/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ESCAPE_H
#define OPTRAIL_ESCAPE_H

#include <stddef.h>

/* Names come from traces and files of others. What could move a terminal's cursor, or is no UTF-8,
 * is written as \xNN for each byte. */

/* For people: control characters, bidirectional overrides and the like are escaped too. Returns
 * the width in columns (one a code point). `size` at least 8; what does not fit is cut. */
size_t escape_for_terminal(const char *text, char *out, size_t size);

/* For JSON, which has its own way with control characters: only what is no UTF-8 is escaped. */
void escape_for_json(const char *text, char *out, size_t size);

#endif
