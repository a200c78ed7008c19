/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_YAML_FILE_H
#define OPTRAIL_YAML_FILE_H

#include <stdbool.h>
#include <yaml.h>

/*
 * Reading our YAML files strictly: every mistake is refused with file and line. A reader is made
 * of handlers, one a key, in rows. Not thread-safe within one file.
 */
struct yaml_file {
    const char *name;   /* weak */
    const char *manual; /* where the keys are explained, for messages; weak */
    yaml_document_t document;
};

/* Loads the file's one document; it must be an ordinary file of at most 1 MiB. On success the
 * caller closes it. *root is NULL when the file is empty. */
int yaml_file_load(struct yaml_file *file, const char *name, const char *manual,
                   const yaml_node_t **root);
/* The same of a text in memory; `name` is for messages. */
int yaml_text_load(struct yaml_file *file, const char *name, const char *manual, const char *text,
                   const yaml_node_t **root);
void yaml_file_close(struct yaml_file *file);

int yaml_line(const yaml_node_t *node); /* from 1 */

/* Fails with "FILE:LINE: ...". */
int yaml_wrong(const struct yaml_file *file, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* A text that is not empty; weak: it belongs to the file. */
int yaml_string(const struct yaml_file *file, const yaml_node_t *node, const char **string);

/* The same, copied into a field that must still be NULL. */
int yaml_copy(const struct yaml_file *file, const yaml_node_t *node, char **field);

int yaml_bool(const struct yaml_file *file, const yaml_node_t *node, bool *value);

typedef int yaml_handler(const struct yaml_file *file, const yaml_node_t *node, void *context);

/* Calls the handler for each item of a list, until one fails. */
int yaml_each_item(const struct yaml_file *file, const yaml_node_t *node, yaml_handler *handler,
                   void *context);

struct yaml_key {
    const char *name; /* NULL ends the rows */
    yaml_handler *handler;
};

/* Hands the value of each key to that key's handler, until one fails; refuses a key that has no
 * row. */
int yaml_each_key(const struct yaml_file *file, const yaml_node_t *node,
                  const struct yaml_key *keys, void *context);

/* The value of a pair, or the item of a list. */
const yaml_node_t *yaml_node(const struct yaml_file *file, int index);

#endif
