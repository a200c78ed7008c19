/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_MAP_PARTS_H
#define OPTRAIL_PROBE_MAP_PARTS_H

#include "yaml_file.h"

/* Handlers (yaml_file.h) for the keys `classes` and `layouts`; the context is the struct
 * probe_map. */
int probe_map_classes(const struct yaml_file *file, const yaml_node_t *node, void *context);
int probe_map_layouts(const struct yaml_file *file, const yaml_node_t *node, void *context);

#endif
