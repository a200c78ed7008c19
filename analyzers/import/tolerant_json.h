/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TOLERANT_JSON_H
#define OPTRAIL_TOLERANT_JSON_H

#include <stdbool.h>
#include <stddef.h>

/*
 * JSON as it is pasted: its head or tail cut off, brackets that do not match, comments, Python's
 * quotes and constants, commas too many or too few, other text around it. Nothing is refused; what
 * is there becomes a tree. Objects and arrays are the same here: a list of values, with or without
 * a key. Words that are no value are passed over.
 */
enum tolerant_type { TOLERANT_LIST, TOLERANT_STRING, TOLERANT_NUMBER };

struct tolerant_node {
    enum tolerant_type type;
    char open;          /* of a list: '{', '[', or 0 for the root */
    bool closed;        /* of a list: its end was there */
    unsigned char mark; /* whoever reads the tree may set it */
    const char *key;    /* "" when it has none */
    const char *text;   /* of a string or number, as written */
    double number;
    struct tolerant_node *parent, *first, *last, *next;
    struct tolerant_node *all; /* in the order of the text, the root first */
};

struct tolerant;

/* Reads the text. The tree and all strings belong to it. NULL with the message without memory. */
struct tolerant *tolerant_parse(const char *text, size_t size);
void tolerant_free(struct tolerant *tree);

/* The root: a list that all others are in. */
struct tolerant_node *tolerant_root(struct tolerant *tree);
/* The child of that key; NULL: none. */
struct tolerant_node *tolerant_child(const struct tolerant_node *list, const char *key);
/* Its text, or "" when it is none. Times and durations come as numbers or as strings. */
const char *tolerant_text(const struct tolerant_node *list, const char *key);
bool tolerant_number(const struct tolerant_node *list, const char *key, double *number);

#endif
