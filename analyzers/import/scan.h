/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCAN_H
#define OPTRAIL_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define SCAN_LINE 1024

/* The next line without its end, at most SCAN_LINE - 1 bytes of it; false at the end of the text.
 * *at goes on. */
bool scan_line(const char **at, char *line);

/* A number, also with a decimal comma; *end is behind it. False: none. */
bool scan_number(const char *text, double *number, const char **end);

/* The number behind `key` (blanks, =, : between); false: the key is not there, or no number. */
bool scan_after(const char *text, const char *key, double *number);

/* The numbers that a line of a table consists of; "-" is NAN. 0: there is something else in it.
 * What is behind the last of `most` is not looked at. */
size_t scan_row(const char *line, double *numbers, size_t most);

/* Whether a text begins with another, behind blanks. */
bool scan_begins(const char *text, const char *with);

#endif
