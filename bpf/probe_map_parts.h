/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_MAP_PARTS_H
#define OPTRAIL_PROBE_MAP_PARTS_H

#include "probe_map.h"
#include "yaml_file.h"

/* Handlers (yaml_file.h) for the keys `classes` and `layouts`; the context is the struct
 * probe_map. */
int probe_map_classes(const struct yaml_file *file, const yaml_node_t *node, void *context);
int probe_map_layouts(const struct yaml_file *file, const yaml_node_t *node, void *context);

/* Takes the rows and classes of the map of another version, in the same directory, for a map that
 * has none: each row's function may then have other parameters. */
int probe_map_take(struct probe_map *map, const char *like);

#endif
