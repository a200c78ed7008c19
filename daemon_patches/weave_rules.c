/* SPDX-License-Identifier: MIT */
#include "weave_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave_rules_yaml.h"
#include "weave_text.h"
#include "weave_tree.h"

int weave_take_line(const struct yaml_file *file, const yaml_node_t *node, char **field)
{
    int result = yaml_copy(file, node, field);
    if (result == 0)
        for (const char *at = *field; *at; at++)
            if ((unsigned char)*at < ' ')
                return yaml_wrong(file, node, "this must be one line");
    return result;
}

int weave_take_name(const struct yaml_file *file, const yaml_node_t *node, char **field)
{
    int result = weave_take_line(file, node, field);
    if (result == 0 && (*field)[strspn(*field, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return yaml_wrong(file, node, "a rule's name is made of a-z, 0-9 and _");
    return result;
}

static int take_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return weave_take_name(file, node, &((struct weave_rule *)context)->name);
}

static int add_name(const struct yaml_file *file, const yaml_node_t *node,
                    struct weave_names *names)
{
    if (names->count == WEAVE_ALTERNATIVES)
        return yaml_wrong(file, node, "at most %d alternatives are taken", WEAVE_ALTERNATIVES);
    int result = weave_take_line(file, node, &names->rows[names->count]);
    names->count += names->rows[names->count] != NULL;
    return result;
}

static int take_alternative(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return add_name(file, node, context);
}

/* One text, or a list of alternatives. */
static int take_names(const struct yaml_file *file, const yaml_node_t *node,
                      struct weave_names *names)
{
    if (node->type == YAML_SCALAR_NODE)
        return names->count ? yaml_wrong(file, node, "this is said twice")
                            : add_name(file, node, names);
    return yaml_each_item(file, node, take_alternative, names);
}

static int take_file(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_names *files = context;
    int result = add_name(file, node, files);
    if (result)
        return result;
    if (!weave_tree_holds(files->rows[files->count - 1]))
        return yaml_wrong(file, node, "files lie below the tree: no '/' in front and no '..'");
    return 0;
}

int weave_take_files(const struct yaml_file *file, const yaml_node_t *node,
                     struct weave_names *files)
{
    return yaml_each_item(file, node, take_file, files);
}

static int take_files(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return weave_take_files(file, node, &((struct weave_rule *)context)->files);
}

static int take_function(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return take_names(file, node, &((struct weave_rule *)context)->functions);
}

static int take_signature(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return take_names(file, node, &((struct weave_rule *)context)->signatures);
}

static int take_position(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct {
        const char *word;
        bool anchor;
        enum weave_position position;
    } rows[] = {{"entry", false, WEAVE_ENTRY},
                {"exit", false, WEAVE_EXIT},
                {"exit late", false, WEAVE_EXIT_LATE},
                {"before ", true, WEAVE_BEFORE},
                {"after ", true, WEAVE_AFTER},
                {"around ", true, WEAVE_AROUND},
                {"in ", true, WEAVE_IN}};
    struct weave_rule *rule = context;
    char *text = NULL;
    int result = rule->position ? yaml_wrong(file, node, "this is said twice")
                                : weave_take_line(file, node, &text);
    for (size_t i = 0; result == 0 && text && i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].word);
        if (strncmp(text, rows[i].word, length) != 0 || rows[i].anchor != (text[length] != '\0'))
            continue;
        rule->position = rows[i].position;
        if (rows[i].anchor && !(rule->anchor = strdup(text + length)))
            result = err_no_memory();
    }
    if (result == 0 && !rule->position)
        result = yaml_wrong(file, node,
                            "a place is entry, exit, 'exit late', or before, after, around or in "
                            "with what is called there");
    free(text);
    return result;
}

static int take_behind(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return weave_take_line(file, node, &((struct weave_rule *)context)->behind);
}

static int take_occurrence(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    const char *text;
    char *end;
    int result = yaml_string(file, node, &text);
    if (result)
        return result;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end || value > 1000)
        return yaml_wrong(file, node, "a number from 1 to 1000 is wanted here");
    ((struct weave_rule *)context)->occurrence = (unsigned)value;
    return 0;
}

static int take_every(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct weave_rule *)context)->every);
}

/* The probe stays an expression of its own: what would end its line or comment is refused. */
static int take_text(const struct yaml_file *file, const yaml_node_t *node, char **text)
{
    int result = weave_take_line(file, node, text);
    if (result == 0 && *text &&
        (strpbrk(*text, ";#\\{}") || strstr(*text, "//") || strstr(*text, "/*")))
        return yaml_wrong(file, node, "a probe is one call: without ; # \\ { } and comments");
    return result;
}

#define TAKE_TEXT(name, which)                                                                     \
    static int name(const struct yaml_file *file, const yaml_node_t *node, void *context)          \
    {                                                                                              \
        return take_text(file, node, &((struct weave_rule *)context)->texts[which]);               \
    }
TAKE_TEXT(take_probe, WEAVE_PROBE)
TAKE_TEXT(take_before, WEAVE_TEXT_BEFORE)
TAKE_TEXT(take_after, WEAVE_TEXT_AFTER)
TAKE_TEXT(take_leave, WEAVE_TEXT_LEAVE)

static int take_optional(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct weave_rule *)context)->optional);
}

static int check_rule(const struct yaml_file *file, const yaml_node_t *node,
                      const struct weave_rule *rule)
{
    bool around = rule->texts[WEAVE_TEXT_BEFORE] || rule->texts[WEAVE_TEXT_AFTER] ||
                  rule->texts[WEAVE_TEXT_LEAVE];
    if (!rule->name || !rule->files.count || !rule->functions.count || !rule->position ||
        (!rule->texts[WEAVE_PROBE] && !around))
        return yaml_wrong(file, node, "a rule has a name, files, a function, at and a probe");
    if (rule->position == WEAVE_AROUND ? rule->texts[WEAVE_PROBE] || !around : around)
        return yaml_wrong(file, node,
                          "'around' has before, after and leave, or some of them; all other places "
                          "have a probe");
    const char *kept = rule->texts[rule->position == WEAVE_AROUND ? WEAVE_TEXT_LEAVE : WEAVE_PROBE];
    if ((rule->position == WEAVE_EXIT || rule->position == WEAVE_AROUND) && kept &&
        strncmp(kept, "OPTRAIL_TEXT", 12) == 0)
        return yaml_wrong(file, node, "a text cannot be kept until the exit: use 'exit late'");
    for (size_t i = 0; i < WEAVE_TEXTS; i++) {
        const char *wrong = rule->texts[i] ? weave_call_wrong(rule->texts[i]) : NULL;
        if (wrong)
            return yaml_wrong(file, node, "rule %s: '%s' is no call: %s", rule->name,
                              rule->texts[i], wrong);
    }
    if ((rule->behind || rule->every || rule->occurrence) && !rule->anchor)
        return yaml_wrong(file, node,
                          "behind, occurrence and every choose among calls: 'at' names "
                          "none");
    if (rule->every && (rule->behind || rule->occurrence))
        return yaml_wrong(file, node, "every takes all calls: no behind and no occurrence");
    return 0;
}

bool weave_rules_have(const struct weave_rules *rules, const char *name, const void *own)
{
    for (size_t i = 0; i < rules->count; i++)
        if (own != &rules->rows[i] && strcmp(rules->rows[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < rules->build_count; i++)
        if (own != &rules->builds[i] && strcmp(rules->builds[i].name, name) == 0)
            return true;
    return strcmp(name, "include") == 0;
}

static int take_rule(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"name", take_name},         {"files", take_files},
        {"function", take_function}, {"signature", take_signature},
        {"at", take_position},       {"behind", take_behind},
        {"every", take_every},       {"occurrence", take_occurrence},
        {"probe", take_probe},       {"before", take_before},
        {"after", take_after},       {"leave", take_leave},
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
    if (result == 0)
        result = check_rule(file, node, rule);
    if (result == 0 && weave_rules_have(rules, rule->name, rule))
        result = yaml_wrong(file, node, "the name '%s' is taken", rule->name);
    return result;
}

static int take_rules(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, take_rule, context);
}

static int take_include(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_rules *rules = context;
    int result = weave_take_line(file, node, &rules->include);
    if (result == 0 && !strchr("<\"", rules->include[0]))
        return yaml_wrong(file, node, "<header> or \"header\" is wanted here");
    return result;
}

int weave_rules_read_file(const char *name, struct weave_rules *rules)
{
    static const struct yaml_key keys[] = {
        {"include", take_include}, {"rules", take_rules}, {"builds", weave_take_builds}, {0}};
    struct yaml_file file;
    const yaml_node_t *root;
    size_t before = rules->count + rules->build_count;
    int result = yaml_file_load(&file, name, "docs/weave.md", &root);
    if (result)
        return result;
    if (root)
        result = yaml_each_key(&file, root, keys, rules);
    if (result == 0 && rules->count + rules->build_count == before)
        result = err_set(EINVAL, "%s: no rules are in it", name);
    yaml_file_close(&file);
    return result;
}

void weave_names_free(struct weave_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->rows[i]);
}

void weave_rules_free(struct weave_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        struct weave_rule *rule = &rules->rows[i];
        weave_names_free(&rule->files);
        weave_names_free(&rule->functions);
        weave_names_free(&rule->signatures);
        for (size_t k = 0; k < WEAVE_TEXTS; k++)
            free(rule->texts[k]);
        free(rule->name);
        free(rule->anchor);
        free(rule->behind);
    }
    weave_builds_free(rules);
    free(rules->rows);
    free(rules->include);
    *rules = (struct weave_rules){0};
}
