/* SPDX-License-Identifier: MIT */
#include "probe_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"
#include "probe_map_parts.h"
#include "yaml_file.h"

static int get_point(const struct yaml_file *file, const yaml_node_t *node, int *point)
{
    const char *name;
    int error = yaml_string(file, node, &name);
    if (error)
        return error;
    *point = point_by_name(name);
    if (*point < 0)
        return yaml_wrong(file, node, "unknown point '%s': `optrail points` lists them", name);
    return 0;
}

/* Expressions and conditions */

static int get_expression(const struct yaml_file *file, const yaml_node_t *node,
                          struct uprobe_fetch *fetch, unsigned *registers)
{
    const char *text;
    int error = yaml_string(file, node, &text);
    if (!error && probe_expression(text, fetch, registers))
        error = yaml_wrong(file, node,
                           "'%s' is no expression: write rdi, \"*rsi\" or \"*(rsp+16)\"", text);
    return error;
}

static int row_key(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    return get_expression(file, node, &row->site.key, &row->registers);
}

static int row_arg0(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    return get_expression(file, node, &row->site.arg0, &row->registers);
}

static int row_arg1(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    return get_expression(file, node, &row->site.arg1, &row->registers);
}

static int row_text(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    return get_expression(file, node, &row->site.text, &row->registers);
}

static int row_length(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    return get_expression(file, node, &row->site.length, &row->registers);
}

/* "esi < 0": expression, comparison, number. */
static int row_when(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct {
        const char *sign;
        uint8_t compare;
    } signs[] = {{" == ", UPROBE_EQUAL},
                 {" != ", UPROBE_UNEQUAL},
                 {" < ", UPROBE_LESS},
                 {" > ", UPROBE_GREATER}};
    struct probe_row *row = context;
    const char *text;
    int error = yaml_string(file, node, &text);
    if (error)
        return error;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        const char *sign = strstr(text, signs[i].sign);
        char expression[64];
        if (!sign || (size_t)(sign - text) >= sizeof(expression))
            continue;
        snprintf(expression, sizeof(expression), "%.*s", (int)(sign - text), text);
        const char *number = sign + strlen(signs[i].sign);
        char *end;
        errno = 0;
        row->site.when_value = strtoll(number, &end, 0);
        if (errno || end == number || *end ||
            probe_expression(expression, &row->site.when, &row->registers))
            break;
        row->site.compare = signs[i].compare;
        return 0;
    }
    return yaml_wrong(file, node, "'%s' is no condition: write \"esi < 0\"", text);
}

/* Texts that say which point it is */

struct text_context {
    struct probe_row *row;
    uint32_t point;
};

static int add_text(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    const struct text_context *texts = context;
    struct probe_row *row = texts->row;
    const char *text;
    int error = yaml_string(file, node, &text);
    if (error)
        return error;
    for (size_t i = 0; i < row->text_count; i++)
        if (strncmp(row->texts[i].text, text, UPROBE_TEXT_BYTES) == 0)
            return yaml_wrong(file, node, "'%s' and '%s' begin with the same %d characters", text,
                              row->texts[i].text, UPROBE_TEXT_BYTES);
    struct probe_text *grown = realloc(row->texts, (row->text_count + 1) * sizeof(*row->texts));
    if (!grown)
        return err_no_memory();
    row->texts = grown;
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory();
    row->texts[row->text_count++] = (struct probe_text){copy, texts->point};
    return 0;
}

/* The keys are the points, so there are no rows for them. */
static int row_texts(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    if (node->type != YAML_MAPPING_NODE)
        return yaml_wrong(file, node, "lists of texts by point are wanted here");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_node(file, pair->key);
        const char *name;
        int point = (int)UPROBE_IGNORED;
        int error = yaml_string(file, key, &name);
        if (!error && strcmp(name, "ignore") != 0)
            error = get_point(file, key, &point);
        struct text_context texts = {context, (uint32_t)point};
        if (!error)
            error = yaml_each_item(file, yaml_node(file, pair->value), add_text, &texts);
        if (error)
            return error;
    }
    return 0;
}

/* Rows */

static int row_point(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return get_point(file, node, &((struct probe_row *)context)->point);
}

static int row_function(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct probe_row *)context)->function);
}

static int add_symbol(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    char **grown = realloc(row->symbols, (row->symbol_count + 1) * sizeof(*grown));
    if (!grown)
        return err_no_memory();
    row->symbols = grown;
    grown[row->symbol_count] = NULL;
    int error = yaml_copy(file, node, &grown[row->symbol_count]);
    if (!error)
        row->symbol = grown[0];
    row->symbol_count++;
    return error;
}

static int row_symbol(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    if (row->symbol) /* it says so */
        return yaml_copy(file, node, &row->symbol);
    return node->type == YAML_SEQUENCE_NODE ? yaml_each_item(file, node, add_symbol, context)
                                            : add_symbol(file, node, context);
}

static int get_detail(const struct yaml_file *file, const yaml_node_t *node, int *detail)
{
    const char *name;
    int error = yaml_string(file, node, &name);
    if (error)
        return error;
    *detail = probe_detail_by_name(name);
    return *detail < 0 ? yaml_wrong(file, node, "%s", err_message()) : 0;
}

static int add_detail(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    int detail;
    int error = get_detail(file, node, &detail);
    if (!error)
        ((struct probe_row *)context)->details |= (uint8_t)(1u << detail);
    return error;
}

static int row_detail(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    row->details = 0;
    if (node->type == YAML_SEQUENCE_NODE)
        return yaml_each_item(file, node, add_detail, context);
    int detail;
    int error = get_detail(file, node, &detail);
    if (!error)
        row->details = (uint8_t)(((1u << DETAIL_COUNT) - 1) & ~((1u << detail) - 1));
    return error;
}

static int row_needs(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    const char *name;
    int error = yaml_string(file, node, &name);
    if (error)
        return error;
    row->needs = probe_field_by_name(name, strlen(name));
    return row->needs < 0 ? yaml_wrong(file, node, "unknown field '%s'", name) : 0;
}

static int row_without(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    int error = row_needs(file, node, row);
    row->without = row->needs;
    row->needs = -1;
    return error;
}

static int row_remember(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    bool remember;
    int error = yaml_bool(file, node, &remember);
    if (!error && remember)
        ((struct probe_row *)context)->site.kind = UPROBE_REMEMBER;
    return error;
}

/* The kind of the key in arg0. */
static int row_kind(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_row *row = context;
    const char *name;
    int error = yaml_string(file, node, &name);
    if (error)
        return error;
    for (int kind = KEY_CURRENT + 1; kind < KEY_COUNT; kind++) {
        if (strcmp(key_kind_name((enum key_kind)kind), name) != 0)
            continue;
        row->site.arg1 = (struct uprobe_fetch){.width = 8, .offsets = {kind}};
        return 0;
    }
    return yaml_wrong(file, node, "unknown kind of key '%s'", name);
}

static int row_through(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    bool through;
    int error = yaml_bool(file, node, &through);
    if (!error)
        ((struct probe_row *)context)->site.through = through;
    return error;
}

static int row_positive(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    bool positive;
    int error = yaml_bool(file, node, &positive);
    if (!error)
        ((struct probe_row *)context)->site.positive = positive;
    return error;
}

static int row_required(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct probe_row *)context)->required);
}

static int row_clock(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    const char *name;
    int error = yaml_string(file, node, &name);
    if (!error && strcmp(name, "utime") != 0)
        error = yaml_wrong(file, node, "unknown clock '%s': utime is known", name);
    ((struct probe_row *)context)->utime_stamp = true;
    return error;
}

static int check_row(const struct yaml_file *file, const yaml_node_t *node,
                     const struct probe_row *row)
{
    if (!row->symbol)
        return yaml_wrong(file, node, "a probe wants a `symbol`");
    bool links = row->point >= 0 && (point_rows[row->point].role == ROLE_LINK ||
                                     point_rows[row->point].role == ROLE_MOVE);
    if (links && row->site.arg1.width == 0)
        return yaml_wrong(file, node, "the probe of %s wants the `kind` of the key in arg0",
                          row->symbol);
    if (row->site.kind == UPROBE_REMEMBER)
        return row->point >= 0 || row->text_count
                   ? yaml_wrong(file, node, "a probe that remembers has no point")
                   : 0;
    if (row->site.key.width == 0 && row->point >= 0 && point_rows[row->point].key == KEY_CURRENT)
        return 0;
    if (row->site.key.width == 0)
        return yaml_wrong(file, node, "the probe of %s wants a `key`", row->symbol);
    bool by_text = row->text_count > 0;
    if (by_text == (row->point >= 0))
        return yaml_wrong(file, node, "the probe of %s wants either a `point` or `texts`",
                          row->symbol);
    if (by_text && (row->site.text.width == 0 || row->site.length.width == 0))
        return yaml_wrong(file, node, "the probe of %s has texts: it wants `text` and `length`",
                          row->symbol);
    return 0;
}

static int read_row(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"point", row_point},       {"function", row_function},
        {"symbol", row_symbol},     {"detail", row_detail},
        {"required", row_required}, {"key", row_key},
        {"arg0", row_arg0},         {"arg1", row_arg1},
        {"kind", row_kind},         {"needs", row_needs},
        {"without", row_without},   {"remember", row_remember},
        {"when", row_when},         {"clock", row_clock},
        {"text", row_text},         {"length", row_length},
        {"texts", row_texts},       {"positive", row_positive},
        {"through", row_through},   {0},
    };
    struct probe_map *map = context;
    if (map->count == UPROBE_MAX_SITES)
        return yaml_wrong(file, node, "more than %d probes", UPROBE_MAX_SITES);
    struct probe_row *grown = realloc(map->rows, (map->count + 1) * sizeof(*map->rows));
    if (!grown)
        return err_no_memory();
    map->rows = grown;
    struct probe_row *row = &map->rows[map->count++];
    *row = (struct probe_row){
        .line = yaml_line(node),
        .point = -1,
        .needs = -1,
        .without = -1,
        .details = 1u << DETAIL_STANDARD | 1u << DETAIL_DEEP,
    };
    int error = yaml_each_key(file, node, keys, row);
    if (error)
        return error;
    if (row->text_count)
        row->site.kind = UPROBE_TEXT;
    row->site.point = row->point < 0 ? 0 : (uint16_t)row->point;
    return check_row(file, node, row);
}

/* The map */

static int map_daemon(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct probe_map *)context)->daemon);
}

static int map_version(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_copy(file, node, &((struct probe_map *)context)->version);
}

static int map_like(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct probe_map *map = context;
    const char *version;
    int error = yaml_string(file, node, &version);
    if (error)
        return error;
    if (map->count || map->class_count)
        return yaml_wrong(file, node, "a map that is like another has no probes of its own");
    return probe_map_take(map, version);
}

static int map_verified(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct probe_map *)context)->verified);
}

static int map_probes(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, read_row, context);
}

static int read_map(const struct yaml_file *file, const yaml_node_t *root, struct probe_map *map)
{
    static const struct yaml_key keys[] = {
        {"daemon", map_daemon},         {"version", map_version},
        {"verified", map_verified},     {"like", map_like},
        {"classes", probe_map_classes}, {"layouts", probe_map_layouts},
        {"probes", map_probes},         {0},
    };
    if (!root)
        return err_set(EINVAL, "%s: the file is empty: it holds no probe map", file->name);
    int error = yaml_each_key(file, root, keys, map);
    if (!error && (!map->daemon || !map->version || map->count == 0))
        error = err_set(EINVAL, "%s: a probe map wants daemon, version and probes", file->name);
    return error;
}

int probe_map_read(const char *name, struct probe_map **result)
{
    *result = NULL;
    struct yaml_file file;
    const yaml_node_t *root;
    int error = yaml_file_load(&file, name, "bpf/probe_map.h", &root);
    if (error)
        return error;
    struct probe_map *map = calloc(1, sizeof(*map));
    if (map) {
        map->verified = true;
        map->file = strdup(name);
    }
    error = map && map->file ? read_map(&file, root, map) : err_no_memory();
    yaml_file_close(&file);
    if (error)
        probe_map_free(map);
    else
        *result = map;
    return error;
}

void probe_map_free(struct probe_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->count; i++) {
        struct probe_row *row = &map->rows[i];
        for (size_t t = 0; t < row->text_count; t++)
            free(row->texts[t].text);
        free(row->texts);
        for (size_t n = 0; n < row->symbol_count; n++)
            free(row->symbols[n]);
        free(row->symbols);
        free(row->function);
    }
    for (size_t i = 0; i < map->class_count; i++)
        free(map->classes[i].symbol);
    free(map->classes);
    for (size_t i = 0; i < map->layout_count; i++)
        free(map->layouts[i].build_id);
    free(map->layouts);
    free(map->rows);
    free(map->file);
    free(map->daemon);
    free(map->version);
    free(map);
}
