/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave_rules_yaml.h"

static int take_name(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return weave_take_name(file, node, &((struct weave_build *)context)->name);
}

static int take_files(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return weave_take_files(file, node, &((struct weave_build *)context)->files);
}

static int take_position(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_build *build = context;
    char *text = NULL;
    int result = build->position ? yaml_wrong(file, node, "this is said twice")
                                 : weave_take_line(file, node, &text);
    if (result == 0 && text) {
        size_t word = strcspn(text, " "), blanks = strspn(text + word, " ");
        if (strncmp(text, "before ", 7) == 0)
            build->position = WEAVE_BEFORE;
        else if (strncmp(text, "after ", 6) == 0)
            build->position = WEAVE_AFTER;
        else if (strcmp(text, "end") == 0)
            build->position = WEAVE_END;
        if (build->position != WEAVE_END && !(build->anchor = strdup(text + word + blanks)))
            result = err_no_memory();
        if (result == 0 && (!build->position || (build->anchor && !*build->anchor)))
            result = yaml_wrong(file, node, "a place is end, or before or after a whole line");
    }
    free(text);
    return result;
}

/* What goes on in the next line, or comments out the mark, could not be taken back. */
static int take_line(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    struct weave_build *build = context;
    if (build->line_count == WEAVE_BUILD_LINES)
        return yaml_wrong(file, node, "at most %d lines are taken", WEAVE_BUILD_LINES);
    int result = weave_take_line(file, node, &build->lines[build->line_count]);
    const char *line = build->lines[build->line_count];
    build->line_count += line != NULL;
    if (result == 0 && line && line[strlen(line) - 1] == '\\')
        return yaml_wrong(file, node, "a line cannot go on in the next: a mark stands at its end");
    return result;
}

static int take_lines(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, take_line, context);
}

static int take_optional(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_bool(file, node, &((struct weave_build *)context)->optional);
}

static int take_build(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    static const struct yaml_key keys[] = {
        {"name", take_name},   {"files", take_files},       {"at", take_position},
        {"lines", take_lines}, {"optional", take_optional}, {0},
    };
    struct weave_rules *rules = context;
    struct weave_build *builds =
        reallocarray(rules->builds, rules->build_count + 1, sizeof(*builds));
    if (!builds)
        return err_no_memory();
    rules->builds = builds;
    struct weave_build *build = &builds[rules->build_count++];
    *build = (struct weave_build){0};
    int result = yaml_each_key(file, node, keys, build);
    if (result)
        return result;
    if (!build->name || !build->files.count || !build->position || !build->line_count)
        return yaml_wrong(file, node, "a build has a name, files, at and lines");
    if (weave_rules_have(rules, build->name, build))
        return yaml_wrong(file, node, "the name '%s' is taken", build->name);
    return 0;
}

int weave_take_builds(const struct yaml_file *file, const yaml_node_t *node, void *context)
{
    return yaml_each_item(file, node, take_build, context);
}

void weave_builds_free(struct weave_rules *rules)
{
    for (size_t i = 0; i < rules->build_count; i++) {
        struct weave_build *build = &rules->builds[i];
        weave_names_free(&build->files);
        for (size_t k = 0; k < build->line_count; k++)
            free(build->lines[k]);
        free(build->name);
        free(build->anchor);
    }
    free(rules->builds);
}
