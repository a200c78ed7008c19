/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_JSON_OBJECT_H
#define OPTRAIL_JSON_OBJECT_H

#include <jansson.h>
#include <stdio.h>

#include "json_fields.h"

/* A struct as JSON, by its rows. The caller's; NULL: no memory. */
json_t *object_json(const char *base, const struct field *fields);

/* Strings as an array, up to `count` or a NULL. The caller's; NULL: no memory. */
json_t *strings_json(char *const *strings, size_t count);

/* Writes and frees it (NULL: no memory); `what` it is, for the message. Negative errno with the
 * message. */
int json_write(json_t *json, const char *what, FILE *out);

#endif
