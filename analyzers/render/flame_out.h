/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_OUT_H
#define OPTRAIL_FLAME_OUT_H

#include <stdio.h>

/* What the flame renderers have in common. Names come from files of others: anything may be in
 * them, at any length. */

/* As text or in an attribute's double quotes; what XML cannot hold is written as \xNN. */
void flame_out_xml(const char *text, FILE *out);

/* As a JSON string, with its quotes; what is no UTF-8 is written as \xNN. */
void flame_out_json(const char *text, FILE *out);

/* The text with what is no UTF-8 as \xNN: in `room`, or if that is too small in memory that the
 * caller frees. Without memory it is cut. */
char *flame_out_utf8(const char *text, char *room, size_t size);

/* 0; a negative errno with the message when something could not be written. */
int flame_out_check(FILE *out);

#endif
