/* SPDX-License-Identifier: MIT */
/* The parts of a probe map beside its rows: classes and layouts. */
#include "probe_map_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "probe_map.h"

static int get_number(const struct yaml_file *file, const yaml_node_t *node, long *number)
{
    const char *text;
    int error = yaml_string(file, node, &text);
    if (error)
        return error;
    char *end;
    errno = 0;
    *number = strtol(text, &end, 0);
    if (errno || end == text || *end || *number < 0 || *number > 1 << 20)
        return yaml_wrong(file, node, "'%s' is no number from 0 to %d", text, 1 << 20);
    return 0;
}

/* Classes */

struct class_context {
    struct probe_map *map;
    uint32_t number;
};

static int add_class(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    const struct class_context *class = context;
    struct probe_map *map = class->map;
    struct probe_class *grown = realloc(map->classes, (map->class_count + 1) * sizeof(*grown));
    if (!grown)
        return err_no_memory();
    map->classes = grown;
    grown[map->class_count] = (struct probe_class){.number = class->number};
    return yaml_copy(file, node, &grown[map->class_count++].symbol);
}

/* The keys are numbers, so there are no rows for them. */
int probe_map_classes(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    if (node->type != YAML_MAPPING_NODE)
        return yaml_wrong(file, node, "lists of symbols by number are wanted here");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        long number;
        int error = get_number(file, yaml_node(file, pair->key), &number);
        struct class_context class = {context, (uint32_t)number};
        if (!error)
            error = yaml_each_item(file, yaml_node(file, pair->value), add_class, &class);
        if (error)
            return error;
    }
    return 0;
}

/* Layouts */

static int layout_build_id(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct probe_layout *)context)->build_id);
}

static int layout_fields(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_layout *layout = context;
    if (node->type != YAML_MAPPING_NODE)
        return yaml_wrong(file, node, "offsets by field are wanted here");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_node(file, pair->key);
        const char *name;
        long offset;
        int error = yaml_string(file, key, &name);
        int field = error ? 0 : probe_field_by_name(name, strlen(name));
        if (!error && field < 0)
            error = yaml_wrong(file, key, "unknown field '%s'", name);
        if (!error)
            error = get_number(file, yaml_node(file, pair->value), &offset);
        if (error)
            return error;
        layout->offsets[field] = (int32_t)offset;
    }
    return 0;
}

static int add_layout(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"build_id", layout_build_id}, {"fields", layout_fields}, {0}};
    struct probe_map *map = context;
    struct probe_layout *grown = realloc(map->layouts, (map->layout_count + 1) * sizeof(*grown));
    if (!grown)
        return err_no_memory();
    map->layouts = grown;
    struct probe_layout *layout = &grown[map->layout_count++];
    layout->build_id = NULL;
    for (int i = 0; i < PROBE_FIELDS; i++)
        layout->offsets[i] = -1;
    int error = yaml_each_key(file, node, keys, layout);
    if (!error && !layout->build_id)
        error = yaml_wrong(file, node, "a layout wants a `build_id`");
    return error;
}

int probe_map_layouts(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, add_layout, context);
}
