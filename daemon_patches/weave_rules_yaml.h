/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_RULES_YAML_H
#define OPTRAIL_WEAVE_RULES_YAML_H

#include "weave_rules.h"
#include "yaml_file.h"

/* What the readers of rules and of builds share. All fail with the file and the line, and return a
 * negative errno with err_set. */

/* A text that becomes a part of a line: no line's end may hide in it. */
int weave_take_line(const struct yaml_file *file, const yaml_node_t *node, char **field);

/* The name in a mark: a-z, 0-9 and _. */
int weave_take_name(const struct yaml_file *file, const yaml_node_t *node, char **field);

/* A list of files below the tree. */
int weave_take_files(const struct yaml_file *file, const yaml_node_t *node,
                     struct weave_names *files);

/* The list of builds; the context is the rules. */
int weave_take_builds(const struct yaml_file *file, const yaml_node_t *node, void *context);

void weave_names_free(struct weave_names *names);
void weave_builds_free(struct weave_rules *rules);

#endif
