/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "path_private.h"

static int find_stage(const struct path *path, const char *name)
{
    for (size_t i = 0; i < path->stage_count; i++)
        if (strcmp(path->stages[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int check_points(const struct path *path, const struct path_stage *stage)
{
    const enum point ends[2] = {stage->from, stage->to};
    for (int i = 0; i < 2; i++)
        if (path_point_order(path, ends[i]) < 0)
            return err_set(EINVAL,
                           "%s:%d: stage '%s' uses the point '%s', which `points` does not list: "
                           "add it there, where an op passes it",
                           path->file, stage->line, stage->name, point_rows[ends[i]].name);
    if (path_point_order(path, stage->to) <= path_point_order(path, stage->from))
        return err_set(EINVAL,
                       "%s:%d: stage '%s' ends before it starts: `points` has '%s' before '%s'",
                       path->file, stage->line, stage->name, point_rows[stage->to].name,
                       point_rows[stage->from].name);
    if (stage->or_from < 0)
        return 0;
    int begin = path_point_order(path, (enum point)stage->or_from);
    if (begin < 0 || begin >= path_point_order(path, stage->to))
        return err_set(
            EINVAL,
            "%s:%d: stage '%s' may begin at '%s' as well, which `points` must list, before "
            "'%s'",
            path->file, stage->line, stage->name, point_rows[stage->or_from].name,
            point_rows[stage->to].name);
    return 0;
}

/* The peers that an op waits for are one set: all stages that count them use the same points. */
static int check_peers(const struct path *path, size_t index)
{
    const struct path_stage *stage = &path->stages[index];
    if (!path_stage_counts_peers(stage))
        return 0;
    for (size_t i = 0; i < index; i++) {
        const struct path_stage *other = &path->stages[i];
        if (path_stage_counts_peers(other) &&
            (other->from != stage->from || other->to != stage->to))
            return err_set(EINVAL,
                           "%s:%d: stage '%s' runs from a fork to a join as '%s' (line %d) does, "
                           "but between other points: only one such pair can be told apart",
                           path->file, stage->line, stage->name, other->name, other->line);
    }
    return 0;
}

static int check_names(struct path *path, const struct stage_names *names)
{
    for (size_t i = 0; i < path->stage_count; i++) {
        struct path_stage *stage = &path->stages[i];
        if (find_stage(path, stage->name) != (int)i)
            return err_set(EINVAL, "%s:%d: there are two stages '%s': rename one", path->file,
                           stage->line, stage->name);
        stage->within = -1;
        if (!names[i].within)
            continue;
        stage->within = find_stage(path, names[i].within);
        if (stage->within < 0)
            return err_set(EINVAL, "%s:%d: stage '%s' is within '%s', which is no stage here",
                           path->file, stage->line, stage->name, names[i].within);
    }
    return 0;
}

static int check_nesting(const struct path *path)
{
    for (size_t i = 0; i < path->stage_count; i++) {
        const struct path_stage *stage = &path->stages[i];
        int outer = stage->within;
        for (size_t steps = 0; outer >= 0; outer = path->stages[outer].within)
            if (++steps > path->stage_count || outer == (int)i)
                return err_set(EINVAL,
                               "%s:%d: stage '%s' is within itself: `within` runs in a circle",
                               path->file, stage->line, stage->name);
        if (stage->within < 0)
            continue;
        const struct path_stage *around = &path->stages[stage->within];
        if (path_point_order(path, stage->from) < path_point_order(path, around->from) ||
            path_point_order(path, stage->to) > path_point_order(path, around->to))
            return err_set(EINVAL,
                           "%s:%d: stage '%s' is not inside '%s' (line %d): it begins "
                           "before it or ends after it",
                           path->file, stage->line, stage->name, around->name, around->line);
        if (stage->branch != around->branch)
            return err_set(EINVAL, "%s:%d: stage '%s' is within '%s', but on another branch",
                           path->file, stage->line, stage->name, around->name);
    }
    return 0;
}

static int add_branch(struct path *path, const char *name, int *branch)
{
    for (size_t i = 0; i < path->branch_count; i++) {
        if (strcmp(path->branches[i], name) == 0) {
            *branch = (int)i;
            return 0;
        }
    }
    char **branches = realloc(path->branches, (path->branch_count + 1) * sizeof(*branches));
    if (!branches)
        return err_no_memory();
    path->branches = branches;
    if (!(branches[path->branch_count] = strdup(name)))
        return err_no_memory();
    *branch = (int)path->branch_count++;
    return 0;
}

/* Takes the stages within `outer` (-1: none) and, behind each, those within it. */
static size_t take_within(const struct path *path, int outer, size_t next,
                          struct path_stage *sorted, int *moved)
{
    for (size_t i = 0; i < path->stage_count; i++) {
        if (path->stages[i].within != outer)
            continue;
        moved[i] = (int)next;
        sorted[next++] = path->stages[i];
        next = take_within(path, (int)i, next, sorted, moved);
    }
    return next;
}

/* Puts outer stages before inner ones, else keeps the file's order: folds take, of the stages
 * that are open at a time, the one with the highest index. */
static int sort_stages(struct path *path)
{
    size_t count = path->stage_count;
    struct path_stage *sorted = calloc(count + 1, sizeof(*sorted));
    int *moved = calloc(count + 1, sizeof(*moved));
    int rc = sorted && moved ? 0 : err_no_memory();
    if (rc == 0 && count > 0) {
        take_within(path, -1, 0, sorted, moved);
        for (size_t i = 0; i < count; i++)
            if (sorted[i].within >= 0)
                sorted[i].within = moved[sorted[i].within];
        memcpy(path->stages, sorted, count * sizeof(*sorted));
    }
    free(sorted);
    free(moved);
    return rc;
}

static int check_types(const struct path *path)
{
    if (path->type_count == 0)
        return err_set(EINVAL, "%s: no types: say under `types` which kinds of ops there are",
                       path->file);
    for (size_t i = 0; i < path->type_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(path->types[i].name, path->types[j].name) == 0 &&
                memcmp(path->types[i].passes, path->types[j].passes,
                       sizeof(path->types[i].passes)) == 0 &&
                path->types[i].start_type == path->types[j].start_type)
                return err_set(EINVAL, "%s: type '%s' is there twice with the same conditions",
                               path->file, path->types[i].name);
    return 0;
}

int path_check(struct path *path, struct stage_names *names)
{
    int rc = check_types(path);
    for (size_t i = 0; rc == 0 && i < path->stage_count; i++) {
        path->stages[i].branch = -1;
        if (names[i].branch)
            rc = add_branch(path, names[i].branch, &path->stages[i].branch);
        if (rc == 0)
            rc = check_points(path, &path->stages[i]);
        if (rc == 0)
            rc = check_peers(path, i);
    }
    if (rc == 0)
        rc = check_names(path, names);
    if (rc == 0)
        rc = check_nesting(path);
    return rc < 0 ? rc : sort_stages(path);
}
