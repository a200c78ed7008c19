/* SPDX-License-Identifier: MIT */
#include "probe_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "err.h"
#include "points.h"

/* What the functions below share while a map is read. */
struct reading {
    const char *file; /* weak */
    yaml_document_t document;
    struct probe_map *map; /* weak */
};

static int line_of(const yaml_node_t *node)
{
    return (int)node->start_mark.line + 1;
}

#define refuse(reading, node, ...)                                                                 \
    err_prefix(err_set(EINVAL, __VA_ARGS__), "%s:%d", (reading)->file, line_of(node))

/* The node's text; NULL if it is none. */
static const char *scalar(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)node->data.scalar.value;
    return strlen(text) == node->data.scalar.length ? text : NULL;
}

static int take_string(struct reading *reading, const yaml_node_t *node, const char *key,
                       char **field)
{
    const char *text = scalar(node);
    if (!text || !*text)
        return refuse(reading, node, "`%s` wants a text", key);
    if (*field)
        return refuse(reading, node, "`%s` is there twice", key);
    *field = strdup(text);
    return *field ? 0 : err_no_memory();
}

static int take_flag(struct reading *reading, const yaml_node_t *node, const char *key, bool *flag)
{
    const char *text = scalar(node);
    if (text && strcmp(text, "true") == 0)
        *flag = true;
    else if (text && strcmp(text, "false") == 0)
        *flag = false;
    else
        return refuse(reading, node, "`%s` wants true or false", key);
    return 0;
}

static int take_expression(struct reading *reading, const yaml_node_t *node, const char *key,
                           struct uprobe_fetch *fetch, unsigned *registers)
{
    const char *text = scalar(node);
    if (!text || probe_expression(text, fetch, registers))
        return refuse(reading, node,
                      "`%s: %s` is no expression: write rdi, \"*rsi\" or \"*(rsp+16)\"", key,
                      text ? text : "");
    return 0;
}

/* "esi < 0": expression, comparison, number. */
static int take_condition(struct reading *reading, const yaml_node_t *node, struct probe_row *row)
{
    static const struct {
        const char *sign;
        uint8_t compare;
    } signs[] = {{" == ", UPROBE_EQUAL},
                 {" != ", UPROBE_UNEQUAL},
                 {" < ", UPROBE_LESS},
                 {" > ", UPROBE_GREATER}};
    const char *text = scalar(node);
    for (size_t i = 0; text && i < sizeof(signs) / sizeof(signs[0]); i++) {
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
    return refuse(reading, node, "`when: %s` is no condition: write \"esi < 0\"", text ? text : "");
}

static int take_point(struct reading *reading, const yaml_node_t *node, struct probe_row *row)
{
    const char *name = scalar(node);
    row->point = name ? point_by_name(name) : -ENOENT;
    if (row->point < 0)
        return refuse(reading, node, "unknown point `%s`: optrail points lists them",
                      name ? name : "");
    return 0;
}

static int add_text(struct reading *reading, const yaml_node_t *node, uint32_t point,
                    struct probe_row *row)
{
    const char *text = scalar(node);
    if (!text || !*text)
        return refuse(reading, node, "`texts` wants lists of texts");
    for (size_t i = 0; i < row->text_count; i++)
        if (strncmp(row->texts[i].text, text, UPROBE_TEXT_BYTES) == 0)
            return refuse(reading, node, "`%s` and `%s` begin with the same %d characters", text,
                          row->texts[i].text, UPROBE_TEXT_BYTES);
    struct probe_text *grown = realloc(row->texts, (row->text_count + 1) * sizeof(*row->texts));
    if (!grown)
        return err_no_memory();
    row->texts = grown;
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory();
    row->texts[row->text_count++] = (struct probe_text){copy, point};
    return 0;
}

static int take_texts(struct reading *reading, yaml_node_t *node, struct probe_row *row)
{
    if (node->type != YAML_MAPPING_NODE)
        return refuse(reading, node, "`texts` wants lists of texts by point");
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&reading->document, pair->key);
        yaml_node_t *list = yaml_document_get_node(&reading->document, pair->value);
        const char *name = scalar(key);
        int point = -ENOENT;
        if (name)
            point = strcmp(name, "ignore") == 0 ? (int)UPROBE_IGNORED : point_by_name(name);
        if (point < 0)
            return refuse(reading, key, "unknown point `%s`: optrail points lists them",
                          name ? name : "");
        if (list->type != YAML_SEQUENCE_NODE)
            return refuse(reading, list, "`%s` wants a list of texts", name);
        for (yaml_node_item_t *item = list->data.sequence.items.start;
             item < list->data.sequence.items.top; item++) {
            int error = add_text(reading, yaml_document_get_node(&reading->document, *item),
                                 (uint32_t)point, row);
            if (error)
                return error;
        }
    }
    return 0;
}

static int take_clock(struct reading *reading, const yaml_node_t *node, struct probe_row *row)
{
    const char *name = scalar(node);
    if (!name || strcmp(name, "utime") != 0)
        return refuse(reading, node, "unknown clock `%s`: utime is known", name ? name : "");
    row->utime_stamp = true;
    return 0;
}

static int take_row_key(struct reading *reading, const yaml_node_t *key, yaml_node_t *value,
                        struct probe_row *row)
{
    const char *name = scalar(key);
    struct uprobe_site *site = &row->site;
    if (!name)
        return refuse(reading, key, "a probe's keys are texts");
    if (strcmp(name, "point") == 0)
        return take_point(reading, value, row);
    if (strcmp(name, "function") == 0)
        return take_string(reading, value, name, &row->function);
    if (strcmp(name, "symbol") == 0)
        return take_string(reading, value, name, &row->symbol);
    if (strcmp(name, "required") == 0)
        return take_flag(reading, value, name, &row->required);
    if (strcmp(name, "when") == 0)
        return take_condition(reading, value, row);
    if (strcmp(name, "clock") == 0)
        return take_clock(reading, value, row);
    if (strcmp(name, "texts") == 0)
        return take_texts(reading, value, row);
    const struct {
        const char *name;
        struct uprobe_fetch *fetch;
    } expressions[] = {{"key", &site->key},
                       {"arg0", &site->arg0},
                       {"arg1", &site->arg1},
                       {"text", &site->text},
                       {"length", &site->length}};
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
        if (strcmp(name, expressions[i].name) == 0)
            return take_expression(reading, value, name, expressions[i].fetch, &row->registers);
    return refuse(reading, key, "unknown key `%s` in a probe", name);
}

static int check_row(struct reading *reading, const yaml_node_t *node, const struct probe_row *row)
{
    if (!row->symbol)
        return refuse(reading, node, "a probe wants a `symbol`");
    if (row->site.key.width == 0)
        return refuse(reading, node, "the probe of %s wants a `key`", row->symbol);
    bool by_text = row->text_count > 0;
    if (by_text == (row->point >= 0))
        return refuse(reading, node, "the probe of %s wants either a `point` or `texts`",
                      row->symbol);
    if (by_text && (row->site.text.width == 0 || row->site.length.width == 0))
        return refuse(reading, node, "the probe of %s has texts: it wants `text` and `length`",
                      row->symbol);
    return 0;
}

static int take_row(struct reading *reading, yaml_node_t *node)
{
    struct probe_map *map = reading->map;
    if (node->type != YAML_MAPPING_NODE)
        return refuse(reading, node, "`probes` wants a list of probes");
    if (map->count == UPROBE_MAX_SITES)
        return refuse(reading, node, "more than %d probes", UPROBE_MAX_SITES);
    struct probe_row *grown = realloc(map->rows, (map->count + 1) * sizeof(*map->rows));
    if (!grown)
        return err_no_memory();
    map->rows = grown;
    struct probe_row *row = &map->rows[map->count++];
    *row = (struct probe_row){.line = line_of(node), .point = -1};
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        int error = take_row_key(reading, yaml_document_get_node(&reading->document, pair->key),
                                 yaml_document_get_node(&reading->document, pair->value), row);
        if (error)
            return error;
    }
    row->site.kind = row->text_count ? UPROBE_TEXT : UPROBE_POINT;
    row->site.point = row->point < 0 ? 0 : (uint16_t)row->point;
    return check_row(reading, node, row);
}

static int take_map(struct reading *reading)
{
    yaml_node_t *root = yaml_document_get_root_node(&reading->document);
    if (!root || root->type != YAML_MAPPING_NODE)
        return err_set(EINVAL, "%s: holds no probe map", reading->file);
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&reading->document, pair->key);
        yaml_node_t *value = yaml_document_get_node(&reading->document, pair->value);
        const char *name = scalar(key);
        int error = 0;
        if (name && strcmp(name, "daemon") == 0)
            error = take_string(reading, value, name, &reading->map->daemon);
        else if (name && strcmp(name, "version") == 0)
            error = take_string(reading, value, name, &reading->map->version);
        else if (!name || strcmp(name, "probes") != 0)
            error = refuse(reading, key, "unknown key `%s`: daemon, version and probes are known",
                           name ? name : "");
        else if (value->type != YAML_SEQUENCE_NODE)
            error = refuse(reading, value, "`probes` wants a list of probes");
        else
            for (yaml_node_item_t *item = value->data.sequence.items.start;
                 !error && item < value->data.sequence.items.top; item++)
                error = take_row(reading, yaml_document_get_node(&reading->document, *item));
        if (error)
            return error;
    }
    if (!reading->map->daemon || !reading->map->version || reading->map->count == 0)
        return err_set(EINVAL, "%s: a probe map wants daemon, version and probes", reading->file);
    return 0;
}

static int load_document(struct reading *reading)
{
    FILE *input = fopen(reading->file, "re");
    if (!input)
        return err_set(errno, "cannot open the probe map %s: %s", reading->file, strerror(errno));
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        fclose(input);
        return err_no_memory();
    }
    yaml_parser_set_input_file(&parser, input);
    int error = 0;
    if (!yaml_parser_load(&parser, &reading->document))
        error = err_set(EINVAL, "%s:%zu: %s", reading->file, parser.problem_mark.line + 1,
                        parser.problem ? parser.problem : "not YAML");
    yaml_parser_delete(&parser);
    fclose(input);
    return error;
}

int probe_map_read(const char *file, struct probe_map **result)
{
    *result = NULL;
    struct reading reading = {.file = file};
    int error = load_document(&reading);
    if (error)
        return error;
    reading.map = calloc(1, sizeof(*reading.map));
    if (reading.map)
        reading.map->file = strdup(file);
    if (!reading.map || !reading.map->file)
        error = err_no_memory();
    else
        error = take_map(&reading);
    yaml_document_delete(&reading.document);
    if (error)
        probe_map_free(reading.map);
    else
        *result = reading.map;
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
        free(row->symbol);
        free(row->function);
    }
    free(map->rows);
    free(map->file);
    free(map->daemon);
    free(map->version);
    free(map);
}
