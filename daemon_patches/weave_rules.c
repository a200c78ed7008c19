/* SPDX-License-Identifier: MIT */
#include "weave_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "yaml_file.h"

/* A text that becomes a part of a line: no line's end may hide in it. */
static int take_line(const struct yaml_file *file, const yaml_node_t *node, char **field)
{
    int result = yaml_copy(file, node, field);
    if (result == 0)
        for (const char *at = *field; *at; at++)
            if ((unsigned char)*at < ' ')
                return yaml_wrong(file, node, "this must be one line");
    return result;
}

static int take_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_rule *rule = context;
    int result = take_line(file, node, &rule->name);
    if (result == 0 && rule->name[strspn(rule->name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return yaml_wrong(file, node, "a rule's name is made of a-z, 0-9 and _");
    return result;
}

static int take_file(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_rule *rule = context;
    if (rule->file_count == WEAVE_FILES)
        return yaml_wrong(file, node, "a rule has at most %d files", WEAVE_FILES);
    int result = take_line(file, node, &rule->files[rule->file_count]);
    const char *name = rule->files[rule->file_count];
    if (!name)
        return result;
    rule->file_count++;
    if (result == 0 && (*name == '/' || strstr(name, "..")))
        return yaml_wrong(file, node, "files lie below the tree: no '/' in front and no '..'");
    return result;
}

static int take_files(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, take_file, context);
}

static int take_function(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return take_line(file, node, &((struct weave_rule *)context)->function);
}

static int take_signature(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return take_line(file, node, &((struct weave_rule *)context)->signature);
}

static int take_position(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct {
        const char *word;
        bool anchor;
        enum weave_position position;
    } rows[] = {{"entry", false, WEAVE_ENTRY},
                {"exit", false, WEAVE_EXIT},
                {"before ", true, WEAVE_BEFORE},
                {"after ", true, WEAVE_AFTER}};
    struct weave_rule *rule = context;
    char *text = NULL;
    int result = rule->position ? yaml_wrong(file, node, "this is said twice")
                                : take_line(file, node, &text);
    for (size_t i = 0; result == 0 && text && i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].word);
        if (strncmp(text, rows[i].word, length) != 0 || rows[i].anchor != (text[length] != '\0'))
            continue;
        rule->position = rows[i].position;
        if (rows[i].anchor && !(rule->anchor = strdup(text + length)))
            result = err_no_memory();
    }
    if (result == 0 && !rule->position)
        result = yaml_wrong(file, node, "a place is entry, exit, 'before CALL' or 'after CALL'");
    free(text);
    return result;
}

/* The probe stays an expression of its own: what would end its line or comment is refused. */
static int take_probe(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_rule *rule = context;
    int result = take_line(file, node, &rule->probe);
    if (result == 0 && rule->probe &&
        (strpbrk(rule->probe, ";#\\{}") || strstr(rule->probe, "//") || strstr(rule->probe, "/*")))
        return yaml_wrong(file, node, "a probe is one call: without ; # \\ { } and comments");
    return result;
}

static int take_optional(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct weave_rule *)context)->optional);
}

static int take_rule(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"name", take_name},         {"files", take_files},
        {"function", take_function}, {"signature", take_signature},
        {"at", take_position},       {"probe", take_probe},
        {"optional", take_optional}, {0},
    };
    struct weave_rules *rules = context;
    struct weave_rule *rows = reallocarray(rules->rows, rules->count + 1, sizeof(*rows));
    if (!rows)
        return err_no_memory();
    rules->rows = rows;
    struct weave_rule *rule = &rows[rules->count++];
    *rule = (struct weave_rule){0};
    int result = yaml_each_key(file, node, keys, rule);
    if (result)
        return result;
    if (!rule->name || !rule->file_count || !rule->function || !rule->position || !rule->probe)
        return yaml_wrong(file, node, "a rule has a name, files, a function, at and a probe");
    for (size_t i = 0; i + 1 < rules->count; i++)
        if (strcmp(rows[i].name, rule->name) == 0 || strcmp(rule->name, "include") == 0)
            return yaml_wrong(file, node, "the name '%s' is taken", rule->name);
    return 0;
}

static int take_rules(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, take_rule, context);
}

static int take_include(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_rules *rules = context;
    int result = take_line(file, node, &rules->include);
    if (result == 0 && !strchr("<\"", rules->include[0]))
        return yaml_wrong(file, node, "<header> or \"header\" is wanted here");
    return result;
}

int weave_rules_read_file(const char *name, struct weave_rules *rules)
{
    static const struct yaml_key keys[] = {{"include", take_include}, {"rules", take_rules}, {0}};
    struct yaml_file file;
    const yaml_node_t *root;
    size_t before = rules->count;
    int result = yaml_file_load(&file, name, "docs/weave.md", &root);
    if (result)
        return result;
    if (root)
        result = yaml_each_key(&file, root, keys, rules);
    if (result == 0 && rules->count == before)
        result = err_set(EINVAL, "%s: no rules are in it", name);
    yaml_file_close(&file);
    return result;
}

void weave_rules_free(struct weave_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct weave_rule *rule = &rules->rows[i];
        for (size_t k = 0; k < rule->file_count; k++)
            free(rule->files[k]);
        free(rule->name);
        free(rule->function);
        free(rule->signature);
        free(rule->anchor);
        free(rule->probe);
    }
    free(rules->rows);
    free(rules->include);
    *rules = (struct weave_rules){0};
}
