/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "err.h"
#include "path_private.h"

/* No path file is larger; a larger one is a mistake, or an attack. */
#define MAX_FILE_BYTES (1 << 20)

struct parser {
    const char *file;
    yaml_document_t document;
    struct path *path;
    struct stage_names names[PATH_MAX_STAGES];
};

static int line_of(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

static int wrong(const struct parser *parser, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

static int wrong(const struct parser *parser, const yaml_node_t *node, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(EINVAL, "%s:%d: %s", parser->file, line_of(node), text);
}

#ifdef __clang_analyzer__
#define wrong(...) ((wrong)(__VA_ARGS__), -1) /* see err.h */
#endif

/* Values */

static int get_string(const struct parser *parser, const yaml_node_t *node, const char **string)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0 ||
        strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
        return wrong(parser, node, "a word or a sentence is wanted here");
    *string = (const char *)node->data.scalar.value;
    return 0;
}

static int copy_string(const struct parser *parser, const yaml_node_t *node, char **string)
{
    const char *value = NULL;
    int rc = get_string(parser, node, &value);
    if (rc < 0)
        return rc;
    if (*string)
        return wrong(parser, node, "this is said twice");
    *string = strdup(value);
    return *string ? 0 : err_no_memory();
}

static int get_bool(const struct parser *parser, const yaml_node_t *node, int *value)
{
    const char *text = NULL;
    int rc = get_string(parser, node, &text);
    if (rc < 0)
        return rc;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return wrong(parser, node, "true or false is wanted here, not '%s'", text);
    *value = text[0] == 't';
    return 0;
}

static int get_point(const struct parser *parser, const yaml_node_t *node, enum point *point)
{
    const char *name = NULL;
    int rc = get_string(parser, node, &name);
    if (rc < 0)
        return rc;
    int found = point_by_name(name);
    if (found < 0)
        return wrong(parser, node, "unknown point '%s': `optrail points` lists them", name);
    *point = (enum point)found;
    return 0;
}

/* Sequences and mappings: a handler for each item */

typedef int item_handler(struct parser *parser, const yaml_node_t *node, void *context);

static int each_item(struct parser *parser, const yaml_node_t *node, item_handler *handler,
                     void *context)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return wrong(parser, node, "a list is wanted here");
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        int rc = handler(parser, yaml_document_get_node(&parser->document, *item), context);
        if (rc < 0)
            return rc;
    }
    return 0;
}

struct key_row {
    const char *name;
    item_handler *handler;
};

/* Hands each value to the handler of its key; a key without a row is refused. */
static int each_key(struct parser *parser, const yaml_node_t *node, const struct key_row *rows,
                    void *context)
{
    if (node->type != YAML_MAPPING_NODE)
        return wrong(parser, node, "keys and values are wanted here");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&parser->document, pair->key);
        const char *name = NULL;
        int rc = get_string(parser, key, &name);
        if (rc < 0)
            return rc;
        const struct key_row *row = rows;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        if (!row->name)
            return wrong(parser, key, "unknown key '%s' (docs/paths.md has those there are)", name);
        rc = row->handler(parser, yaml_document_get_node(&parser->document, pair->value), context);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Types */

static int type_name(struct parser *parser, const yaml_node_t *node, void *context)
{
    return copy_string(parser, node, &((struct path_type *)context)->name);
}

static int type_start(struct parser *parser, const yaml_node_t *node, void *context)
{
    struct path_type *type = context;
    const char *text = NULL;
    char *end;
    int rc = get_string(parser, node, &text);
    if (rc < 0)
        return rc;
    errno = 0;
    type->start_type = strtoull(text, &end, 0);
    if (errno || *end || text[0] == '-')
        return wrong(parser, node, "a number is wanted for start_type, not '%s'", text);
    type->any_start_type = false;
    return 0;
}

static int type_pass(struct parser *parser, const yaml_node_t *node, void *context)
{
    struct path_type *type = context;
    enum point point;
    int rc = get_point(parser, node, &point);
    if (rc < 0)
        return rc;
    type->passes[point / 64] |= 1ull << (point % 64);
    type->passes_count++;
    return 0;
}

static int type_passes(struct parser *parser, const yaml_node_t *node, void *context)
{
    return each_item(parser, node, type_pass, context);
}

static int type_bytes_in(struct parser *parser, const yaml_node_t *node, void *context)
{
    return get_bool(parser, node, &((struct path_type *)context)->bytes_in);
}

static int type_bytes_out(struct parser *parser, const yaml_node_t *node, void *context)
{
    return get_bool(parser, node, &((struct path_type *)context)->bytes_out);
}

static int read_type(struct parser *parser, const yaml_node_t *node, void *context)
{
    static const struct key_row rows[] = {
        {"name", type_name},         {"start_type", type_start},    {"passes", type_passes},
        {"bytes_in", type_bytes_in}, {"bytes_out", type_bytes_out}, {0},
    };
    (void)context;
    struct path *path = parser->path;
    struct path_type *types = realloc(path->types, (path->type_count + 1) * sizeof(*types));
    if (!types)
        return err_no_memory();
    path->types = types;
    struct path_type *type = &types[path->type_count++];
    *type = (struct path_type){.any_start_type = true, .bytes_in = -1, .bytes_out = -1};
    int rc = each_key(parser, node, rows, type);
    if (rc == 0 && !type->name)
        rc = wrong(parser, node, "a type needs a name");
    return rc;
}

/* Stages */

struct stage_context {
    struct path_stage *stage;
    struct stage_names *names;
    bool kind, from, to;
};

static int stage_name(struct parser *parser, const yaml_node_t *node, void *context)
{
    return copy_string(parser, node, &((struct stage_context *)context)->stage->name);
}

static int stage_kind(struct parser *parser, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    const char *text = NULL;
    int rc = get_string(parser, node, &text);
    for (int kind = 0; rc == 0 && kind < STAGE_KIND_COUNT; kind++) {
        if (strcmp(stage_kind_names[kind], text) == 0) {
            stage->stage->kind = (enum stage_kind)kind;
            stage->kind = true;
            return 0;
        }
    }
    return rc < 0 ? rc
                  : wrong(parser, node, "unknown kind '%s': wait, work, lock, io, net or throttle",
                          text);
}

static int stage_from(struct parser *parser, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    stage->from = true;
    return get_point(parser, node, &stage->stage->from);
}

static int stage_to(struct parser *parser, const yaml_node_t *node, void *context)
{
    struct stage_context *stage = context;
    stage->to = true;
    return get_point(parser, node, &stage->stage->to);
}

static int stage_within(struct parser *parser, const yaml_node_t *node, void *context)
{
    return get_string(parser, node, &((struct stage_context *)context)->names->within);
}

static int stage_branch(struct parser *parser, const yaml_node_t *node, void *context)
{
    return get_string(parser, node, &((struct stage_context *)context)->names->branch);
}

static int stage_text(struct parser *parser, const yaml_node_t *node, void *context)
{
    return copy_string(parser, node, &((struct stage_context *)context)->stage->text);
}

static int stage_knob(struct parser *parser, const yaml_node_t *node, void *context)
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
    return copy_string(parser, node, &knobs[count]);
}

static int stage_knobs(struct parser *parser, const yaml_node_t *node, void *context)
{
    return each_item(parser, node, stage_knob, context);
}

static int read_stage(struct parser *parser, const yaml_node_t *node, void *context)
{
    static const struct key_row rows[] = {
        {"name", stage_name},   {"kind", stage_kind},     {"from", stage_from},
        {"to", stage_to},       {"within", stage_within}, {"branch", stage_branch},
        {"knobs", stage_knobs}, {"text", stage_text},     {0},
    };
    (void)context;
    struct path *path = parser->path;
    if (path->stage_count == PATH_MAX_STAGES)
        return wrong(parser, node, "more than %d stages", PATH_MAX_STAGES);
    struct path_stage *stages = realloc(path->stages, (path->stage_count + 1) * sizeof(*stages));
    if (!stages)
        return err_no_memory();
    path->stages = stages;
    struct stage_context stage = {&stages[path->stage_count], &parser->names[path->stage_count],
                                  false, false, false};
    path->stage_count++;
    *stage.stage = (struct path_stage){.within = -1, .branch = -1, .line = line_of(node)};
    int rc = each_key(parser, node, rows, &stage);
    if (rc < 0)
        return rc;
    if (!stage.stage->name || !stage.kind || !stage.from || !stage.to)
        return wrong(parser, node, "a stage needs name, kind, from and to");
    if (!stage.stage->text && !(stage.stage->text = strdup("")))
        return err_no_memory();
    if (!stage.stage->knobs && !(stage.stage->knobs = calloc(1, sizeof(char *))))
        return err_no_memory();
    return 0;
}

/* The file */

static int path_name(struct parser *parser, const yaml_node_t *node, void *context)
{
    (void)context;
    return copy_string(parser, node, &parser->path->name);
}

static int path_daemon(struct parser *parser, const yaml_node_t *node, void *context)
{
    (void)context;
    return copy_string(parser, node, &parser->path->daemon);
}

static int path_store(struct parser *parser, const yaml_node_t *node, void *context)
{
    (void)context;
    return copy_string(parser, node, &parser->path->store);
}

static int path_point(struct parser *parser, const yaml_node_t *node, void *context)
{
    (void)context;
    struct path *path = parser->path;
    enum point point;
    int rc = get_point(parser, node, &point);
    if (rc < 0)
        return rc;
    if (path_point_order(path, point) >= 0)
        return wrong(parser, node, "the point '%s' is in `points` twice", point_rows[point].name);
    enum point *points = realloc(path->points, (path->point_count + 1) * sizeof(*points));
    if (!points)
        return err_no_memory();
    path->points = points;
    points[path->point_count++] = point;
    return 0;
}

static int path_points(struct parser *parser, const yaml_node_t *node, void *context)
{
    return each_item(parser, node, path_point, context);
}

static int path_types(struct parser *parser, const yaml_node_t *node, void *context)
{
    return each_item(parser, node, read_type, context);
}

static int path_stages(struct parser *parser, const yaml_node_t *node, void *context)
{
    return each_item(parser, node, read_stage, context);
}

static int parse_document(struct parser *parser)
{
    static const struct key_row rows[] = {
        {"path", path_name},
        {"daemon", path_daemon},
        {"store", path_store},
        {"points", path_points},
        {"types", path_types},
        {"stages", path_stages},
        {0},
    };
    const yaml_node_t *root = yaml_document_get_root_node(&parser->document);
    if (!root)
        return err_set(EINVAL, "%s: the file is empty: docs/paths.md says what a path file has",
                       parser->file);
    int rc = each_key(parser, root, rows, NULL);
    if (rc < 0)
        return rc;
    struct path *path = parser->path;
    if (!path->name || !path->daemon)
        return wrong(parser, root, "a path file needs `path`, its name, and `daemon`");
    if (!path->store && !(path->store = strdup("")))
        return err_no_memory();
    return path_check(path, parser->names);
}

/* Loads the one document of the file. */
static int load_document(FILE *in, struct parser *parser)
{
    yaml_parser_t yaml;
    if (!yaml_parser_initialize(&yaml))
        return err_no_memory();
    yaml_parser_set_input_file(&yaml, in);
    int rc = 0;
    if (!yaml_parser_load(&yaml, &parser->document))
        rc = err_set(EINVAL, "%s:%zu: not YAML: %s", parser->file, yaml.problem_mark.line + 1,
                     yaml.problem ? yaml.problem : "out of memory");
    yaml_parser_delete(&yaml);
    return rc;
}

int path_read(const char *file, struct path **result)
{
    FILE *in = fopen(file, "re");
    if (!in)
        return err_set(errno, "%s: cannot open the path file: %s", file, strerror(errno));
    struct parser parser = {.file = file};
    int rc = 0;
    if (fseek(in, 0, SEEK_END) < 0 || ftell(in) > MAX_FILE_BYTES)
        rc =
            err_set(EINVAL, "%s: not a path file: it is no ordinary file of less than 1 MiB", file);
    rewind(in);
    if (rc == 0)
        rc = load_document(in, &parser);
    fclose(in);
    if (rc < 0)
        return rc;
    parser.path = path_new(file);
    rc = parser.path ? parse_document(&parser) : -ENOMEM;
    yaml_document_delete(&parser.document);
    if (rc < 0) {
        path_free(parser.path);
        return rc;
    }
    *result = parser.path;
    return 0;
}
