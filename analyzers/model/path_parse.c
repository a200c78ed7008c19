/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "path_private.h"
#include "yaml_file.h"

/* What the handlers share while a path file is read. */
struct parser {
    struct path *path;
    struct stage_names names[PATH_MAX_STAGES];
    const yaml_node_t *beside; /* weak; NULL: not there */
};

static int get_point(const struct yaml_file *file, const yaml_node_t *node, enum point *point)
{
    const char *name;
    int rc = yaml_string(file, node, &name);
    if (rc < 0)
        return rc;
    int found = point_by_name(name);
    if (found < 0)
        return yaml_wrong(file, node, "unknown point '%s': `optrail points` lists them", name);
    *point = (enum point)found;
    return 0;
}

/* Types */

static int type_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct path_type *)context)->name);
}

static int type_start(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct path_type *type = context;
    const char *text;
    char *end;
    int rc = yaml_string(file, node, &text);
    if (rc < 0)
        return rc;
    errno = 0;
    type->start_type = strtoull(text, &end, 0);
    if (errno || *end || text[0] == '-')
        return yaml_wrong(file, node, "a number is wanted for start_type, not '%s'", text);
    type->any_start_type = false;
    return 0;
}

static int type_pass(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct path_type *type = context;
    enum point point = POINT_op_start;
    int rc = get_point(file, node, &point);
    if (rc < 0)
        return rc;
    type->passes[point / 64] |= 1ull << (point % 64);
    type->passes_count++;
    return 0;
}

static int type_passes(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, type_pass, context);
}

static int type_flag(const struct yaml_file *file, const yaml_node_t *node, int *flag)
{
    bool value = false;
    int rc = yaml_bool(file, node, &value);
    *flag = value;
    return rc;
}

static int type_bytes_in(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return type_flag(file, node, &((struct path_type *)context)->bytes_in);
}

static int type_bytes_out(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return type_flag(file, node, &((struct path_type *)context)->bytes_out);
}

static int read_type(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"name", type_name},         {"start_type", type_start},    {"passes", type_passes},
        {"bytes_in", type_bytes_in}, {"bytes_out", type_bytes_out}, {0},
    };
    struct path *path = ((struct parser *)context)->path;
    struct path_type *types = realloc(path->types, (path->type_count + 1) * sizeof(*types));
    if (!types)
        return err_no_memory();
    path->types = types;
    struct path_type *type = &types[path->type_count++];
    *type = (struct path_type){.any_start_type = true, .bytes_in = -1, .bytes_out = -1};
    int rc = yaml_each_key(file, node, keys, type);
    if (rc == 0 && !type->name)
        rc = yaml_wrong(file, node, "a type needs a name");
    return rc;
}

/* Stages */

struct stage_context {
    struct path_stage *stage;
    struct stage_names *names;
    bool kind, from, to;
};

static int stage_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct stage_context *)context)->stage->name);
}

static int stage_kind(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    const char *text;
    int rc = yaml_string(file, node, &text);
    if (rc < 0)
        return rc;
    for (int kind = 0; kind < STAGE_KIND_COUNT; kind++) {
        if (strcmp(stage_kind_names[kind], text) == 0) {
            stage->stage->kind = (enum stage_kind)kind;
            stage->kind = true;
            return 0;
        }
    }
    return yaml_wrong(file, node, "unknown kind '%s': wait, work, lock, io, net or throttle", text);
}

static int stage_from(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    stage->from = true;
    return get_point(file, node, &stage->stage->from);
}

static int stage_or_from(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    enum point point = POINT_op_start;
    int rc = get_point(file, node, &point);
    ((struct stage_context *)context)->stage->or_from = (int)point;
    return rc;
}

static int stage_to(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    stage->to = true;
    return get_point(file, node, &stage->stage->to);
}

static int stage_within(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_string(file, node, &((struct stage_context *)context)->names->within);
}

static int stage_branch(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_string(file, node, &((struct stage_context *)context)->names->branch);
}

static int stage_shared(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct stage_context *)context)->stage->shared);
}

static int stage_batches(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct stage_context *)context)->stage->batches);
}

static int stage_text(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct stage_context *)context)->stage->text);
}

static int stage_knob(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct path_stage *stage = ((struct stage_context *)context)->stage;
    size_t count = 0;
    while (stage->knobs && stage->knobs[count])
        count++;
    char **knobs = realloc(stage->knobs, (count + 2) * sizeof(*knobs));
    if (!knobs)
        return err_no_memory();
    stage->knobs = knobs;
    knobs[count] = knobs[count + 1] = NULL;
    return yaml_copy(file, node, &knobs[count]);
}

static int stage_knobs(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, stage_knob, context);
}

static int read_stage(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"name", stage_name},     {"kind", stage_kind},       {"from", stage_from},
        {"to", stage_to},         {"within", stage_within},   {"branch", stage_branch},
        {"knobs", stage_knobs},   {"text", stage_text},       {"batches", stage_batches},
        {"shared", stage_shared}, {"or_from", stage_or_from}, {0},
    };
    struct parser *parser = context;
    struct path *path = parser->path;
    if (path->stage_count == PATH_MAX_STAGES)
        return yaml_wrong(file, node, "more than %d stages", PATH_MAX_STAGES);
    struct path_stage *stages = realloc(path->stages, (path->stage_count + 1) * sizeof(*stages));
    if (!stages)
        return err_no_memory();
    path->stages = stages;
    struct stage_context stage = {.stage = &stages[path->stage_count],
                                  .names = &parser->names[path->stage_count]};
    path->stage_count++;
    *stage.stage =
        (struct path_stage){.within = -1, .branch = -1, .or_from = -1, .line = yaml_line(node)};
    int rc = yaml_each_key(file, node, keys, &stage);
    if (rc < 0)
        return rc;
    if (!stage.stage->name || !stage.kind || !stage.from || !stage.to)
        return yaml_wrong(file, node, "a stage needs name, kind, from and to");
    if (!stage.stage->text && !(stage.stage->text = strdup("")))
        return err_no_memory();
    if (!stage.stage->knobs && !(stage.stage->knobs = calloc(1, sizeof(char *))))
        return err_no_memory();
    return 0;
}

/* The file */

static int path_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct parser *)context)->path->name);
}

static int path_daemon(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct parser *)context)->path->daemon);
}

static int path_store(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct parser *)context)->path->store);
}

static int path_point(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct path *path = ((struct parser *)context)->path;
    enum point point = POINT_op_start;
    int rc = get_point(file, node, &point);
    if (rc < 0)
        return rc;
    if (path_point_order(path, point) >= 0)
        return yaml_wrong(file, node, "the point '%s' is in `points` twice",
                          point_rows[point].name);
    enum point *points = realloc(path->points, (path->point_count + 1) * sizeof(*points));
    if (!points)
        return err_no_memory();
    path->points = points;
    points[path->point_count++] = point;
    return 0;
}

static int path_points(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, path_point, context);
}

/* The branches are known once all stages are: see parse(). */
static int path_beside(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct parser *parser = context;
    (void)file;
    parser->beside = node;
    return 0;
}

static int beside_branch(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct path *path = context;
    const char *name;
    int rc = yaml_string(file, node, &name);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < path->branch_count; i++) {
        if (strcmp(path->branches[i], name) == 0) {
            path->beside |= 1ull << i;
            return 0;
        }
    }
    return yaml_wrong(file, node, "no stage is on the branch '%s'", name);
}

static int path_types(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, read_type, context);
}

static int path_stages(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, read_stage, context);
}

static int parse(const struct yaml_file *file, const yaml_node_t *root, struct parser *parser)
{
    static const struct yaml_key keys[] = {
        {"path", path_name},     {"daemon", path_daemon},
        {"store", path_store},   {"points", path_points},
        {"types", path_types},   {"stages", path_stages},
        {"beside", path_beside}, {0},
    };
    if (!root)
        return err_set(EINVAL, "%s: the file is empty: %s says what a path file has", file->name,
                       file->manual);
    int rc = yaml_each_key(file, root, keys, parser);
    if (rc < 0)
        return rc;
    struct path *path = parser->path;
    if (!path->name || !path->daemon)
        return yaml_wrong(file, root, "a path file needs `path`, its name, and `daemon`");
    if (!path->store && !(path->store = strdup("")))
        return err_no_memory();
    rc = path_check(path, parser->names);
    if (rc == 0 && parser->beside)
        rc = yaml_each_item(file, parser->beside, beside_branch, path);
    return rc;
}

/* Takes the loaded file over. */
static int parse_loaded(struct yaml_file *file, const yaml_node_t *root, struct path **result)
{
    struct parser parser = {.path = path_new(file->name)};
    int rc = parser.path ? parse(file, root, &parser) : -ENOMEM;
    yaml_file_close(file);
    if (rc < 0) {
        path_free(parser.path);
        return rc;
    }
    *result = parser.path;
    return 0;
}

/* The text of a file that was read just now: at most 1 MiB; NULL: it is there no more. */
static char *text_of(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(name, "re");
    ssize_t got = in ? getdelim(&text, &size, '\0', in) : -1;
    if (in)
        fclose(in);
    if (got >= 0)
        return text;
    free(text);
    return NULL;
}

int path_read(const char *name, struct path **result)
{
    struct yaml_file file;
    const yaml_node_t *root;
    int rc = yaml_file_load(&file, name, "docs/paths.md", &root);
    if (rc == 0)
        rc = parse_loaded(&file, root, result);
    if (rc == 0)
        (*result)->text = text_of(name);
    return rc;
}

int path_parse_text(const char *name, const char *text, struct path **result)
{
    struct yaml_file file;
    const yaml_node_t *root;
    int rc = yaml_text_load(&file, name, "docs/paths.md", text, &root);
    if (rc == 0)
        rc = parse_loaded(&file, root, result);
    if (rc == 0 && !((*result)->text = strdup(text))) {
        path_free(*result);
        rc = err_no_memory();
    }
    return rc;
}
