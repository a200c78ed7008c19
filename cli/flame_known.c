/* SPDX-License-Identifier: MIT */
#include "flame_known.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "path.h"
#include "target_options.h"

/* Names that are met while a pattern is tried, for who has to choose another one. */
struct trial {
    const char *pattern; /* weak */
    bool met;
    char names[768];
};

static bool is_listed(const struct trial *trial, const char *name)
{
    size_t length = strlen(name);
    const char *at = trial->names;

    while ((at = strstr(at, name)) != NULL) {
        bool begins = at == trial->names || at[-1] == ' ';
        if (begins && (at[length] == ',' || at[length] == '\0'))
            return true;
        at += length;
    }
    return false;
}

static void try_name(struct trial *trial, const char *name)
{
    size_t used = strlen(trial->names);

    trial->met = trial->met || fnmatch(trial->pattern, name, 0) == 0;
    if (!is_listed(trial, name))
        snprintf(trial->names + used, sizeof(trial->names) - used, "%s%s", used ? ", " : "", name);
}

static void try_path(const struct path *path, struct trial *op, struct trial *stage)
{
    for (size_t i = 0; i < path->type_count; i++)
        try_name(op, path->types[i].name);
    for (size_t i = 0; i < path->stage_count; i++)
        try_name(stage, path->stages[i].name);
}

/* `name`: as path_set_open() wants it. */
static int try_paths(const char *name, struct trial *op, struct trial *stage)
{
    struct path_set set;
    int result = path_set_open(name, &set);

    for (size_t i = 0; result == 0 && i < set.count; i++)
        try_path(set.paths[i], op, stage);
    path_set_free(&set);
    return result;
}

int flame_check_known(const struct flame_request *request, const struct target *targets,
                      size_t count)
{
    const struct flame_options *options = &request->options;
    struct trial op = {.pattern = options->op ? options->op : "*"};
    struct trial stage = {.pattern = options->stage ? options->stage : "*"};
    char file[PATH_MAX];
    int result = 0;

    if (!options->op && !options->stage)
        return 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = try_paths(request->path ? request->path
                                         : target_path_file(&targets[i], file, sizeof(file)),
                           &op, &stage);
    if (result < 0)
        return result;
    /* what no path has a type or a stage for */
    try_name(&op, "other");
    try_name(&stage, "unattributed");
    if (!op.met)
        return err_set(EINVAL, "--op: there is no '%s' among %s", op.pattern, op.names);
    if (!stage.met)
        return err_set(EINVAL, "--stage: there is no '%s' among %s", stage.pattern, stage.names);
    return 0;
}
