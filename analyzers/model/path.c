/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "path_private.h"

const char *const stage_kind_names[STAGE_KIND_COUNT] = {"wait", "work", "lock",
                                                        "io",   "net",  "throttle"};

struct path *path_new(const char *file)
{
    struct path *path = calloc(1, sizeof(*path));
    if (path && !(path->file = strdup(file))) {
        free(path);
        path = NULL;
    }
    if (!path)
        err_no_memory();
    return path;
}

static void free_strings(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

void path_free(struct path *path)
{
    if (!path)
        return;
    for (size_t i = 0; i < path->stage_count; i++) {
        free(path->stages[i].name);
        free(path->stages[i].text);
        free_strings(path->stages[i].knobs);
    }
    for (size_t i = 0; i < path->type_count; i++)
        free(path->types[i].name);
    for (size_t i = 0; i < path->branch_count; i++)
        free(path->branches[i]);
    free(path->branches);
    free(path->stages);
    free(path->types);
    free(path->points);
    free(path->name);
    free(path->daemon);
    free(path->store);
    free(path->file);
    free(path->text);
    free(path);
}

int path_point_order(const struct path *path, enum point point)
{
    for (size_t i = 0; i < path->point_count; i++)
        if (path->points[i] == point)
            return (int)i;
    return -1;
}
