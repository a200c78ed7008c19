/* SPDX-License-Identifier: MIT */
#include "weave.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave_build.h"
#include "weave_place.h"
#include "weave_text.h"

/* Finds the file among those that are open already, or reads it. -ENOENT: it is not there. */
static int open_file(struct weaving *weaving, const char *name, size_t *index)
{
    for (*index = 0; *index < weaving->file_count; ++*index)
        if (strcmp(weaving->files[*index].name, name) == 0)
            return 0;
    struct weave_file *files =
        reallocarray(weaving->files, weaving->file_count + 1, sizeof(*files));
    if (!files)
        return err_no_memory();
    weaving->files = files;
    int result = weave_file_read(&weaving->tree, name, &files[*index]);
    weaving->file_count += result == 0;
    return result;
}

static int add_spot(struct weave_file *file, const struct weave_rule *rule, size_t index,
                    const struct weave_spot *spot, unsigned number)
{
    char *call = weave_statement_text(rule, spot->text, number), *text = NULL;
    int blanks = (int)strspn(file->clean + spot->indent, " \t");
    int length = !call ? -1
                       : asprintf(&text, "%.*s%s" WEAVE_MARK_BEGIN "%s" WEAVE_MARK_END "%s", blanks,
                                  file->clean + spot->indent, call, rule->name,
                                  weave_file_line_end(file, spot->offset));
    free(call);
    if (length < 0)
        return err_no_memory();
    bool in_front = spot->text == WEAVE_TEXT_BEFORE || rule->position == WEAVE_BEFORE;
    return weave_file_add(file, spot->offset, in_front, index, text);
}

/* -ENOENT: neither the function nor the call is in this file. */
static int place_rule(struct weave_file *file, const struct weave_rule *rule, size_t index,
                      const char **function)
{
    struct cxx_code code;
    struct weave_spots spots = {0};
    int result = cxx_code_read(file->clean, file->clean_size, &code);
    if (result == 0)
        result = weave_place(&code, file->clean_size, rule, &spots);
    cxx_code_free(&code);
    *function = spots.function;
    for (size_t i = 0; result == 0 && i < spots.count; i++)
        result = add_spot(file, rule, index, &spots.rows[i], (unsigned)i + 1);
    free(spots.rows);
    return result;
}

/* What is tried in the files of a rule, or of a build. */
struct trial {
    const struct weave_rule *rule; /* or NULL */
    const struct weave_build *build;
    const char *prefix;
    const struct weave_names *files;
    size_t index;
};

/* Tries the files until the function, or the line, is in one. */
static int try_files(struct weaving *weaving, const struct trial *trial)
{
    struct weave_outcome *outcome = &weaving->outcomes[trial->index];
    int result = -ENOENT;
    bool looked = false;
    outcome->file = trial->files->rows[0];
    for (size_t i = 0; result == -ENOENT && i < trial->files->count; i++) {
        size_t at;
        result = open_file(weaving, trial->files->rows[i], &at);
        if (result == -ENOENT && (looked || i + 1 < trial->files->count))
            continue; /* a reason that is found in a file tells more */
        looked |= result == 0;
        outcome->file = trial->files->rows[result == -ENOENT ? 0 : i];
        free(outcome->reason);
        outcome->reason = NULL;
        if (result == 0)
            result = trial->rule ? place_rule(&weaving->files[at], trial->rule, trial->index,
                                              &outcome->function)
                                 : weave_build_place(&weaving->files[at], trial->build,
                                                     trial->prefix, trial->index);
        if (result && !(outcome->reason = strdup(looked || result != -ENOENT ? err_message()
                                                                             : "it is not there")))
            return err_no_memory();
    }
    return result;
}

static int refuse(struct weaving *weaving, size_t index)
{
    struct weave_outcome *outcome = &weaving->outcomes[index];
    if (!outcome->reason)
        outcome->reason = strdup(err_message());
    outcome->state = WEAVE_REFUSED;
    return outcome->reason ? 0 : err_no_memory();
}

static int place_all(struct weaving *weaving, const struct weave_rules *rules, const char *prefix)
{
    weaving->rule_count = rules->count;
    weaving->outcome_count = rules->count + rules->build_count;
    weaving->outcomes = calloc(weaving->outcome_count + 1, sizeof(*weaving->outcomes));
    int result = weaving->outcomes ? 0 : err_no_memory();
    for (size_t i = 0; result == 0 && i < weaving->outcome_count; i++) {
        const struct weave_rule *rule = i < rules->count ? &rules->rows[i] : NULL;
        const struct weave_build *build = rule ? NULL : &rules->builds[i - rules->count];
        struct trial trial = {rule, build, prefix, rule ? &rule->files : &build->files, i};
        weaving->outcomes[i].name = rule ? rule->name : build->name;
        int placed = try_files(weaving, &trial);
        if (placed == -ENOMEM)
            result = placed;
        else if (placed == -ENOENT && (rule ? rule->optional : build->optional))
            weaving->outcomes[i].state = WEAVE_ABSENT;
        else if (placed < 0)
            result = refuse(weaving, i);
    }
    return result;
}

/* Puts the #include into a file that has got lines of rules. */
static int add_include(const struct weaving *weaving, struct weave_file *file, const char *include)
{
    struct cxx_code code;
    size_t offset = 0;
    char *text = NULL;
    bool needed = false;
    for (size_t i = 0; i < file->line_count; i++)
        needed |= file->lines[i].rule < weaving->rule_count;
    if (!needed)
        return 0;
    int result = cxx_code_read(file->clean, file->clean_size, &code);
    if (result == 0)
        result = weave_include_place(&code, file->clean_size, &offset);
    cxx_code_free(&code);
    if (result)
        return result;
    if (asprintf(&text, "#include %s" WEAVE_MARK_BEGIN "include" WEAVE_MARK_END "%s", include,
                 weave_file_line_end(file, offset)) < 0)
        return err_no_memory();
    return weave_file_add(file, offset, false, weaving->outcome_count, text);
}

static int finish_files(struct weaving *weaving, const struct weave_rules *rules)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++) {
        struct weave_file *file = &weaving->files[i];
        if (rules && add_include(weaving, file, rules->include) < 0)
            for (size_t k = 0; result == 0 && k < file->line_count; k++)
                result = refuse(weaving, file->lines[k].rule);
        if (result == 0)
            result = weave_file_make_woven(file);
    }
    for (size_t i = 0; i < weaving->outcome_count; i++)
        weaving->refused += weaving->outcomes[i].state == WEAVE_REFUSED;
    return result;
}

/* The files that were woven before: what is in them is taken out when no rule puts it back. */
static int open_recorded(struct weaving *weaving)
{
    int result = weave_record_read(&weaving->tree, &weaving->record, &weaving->recorded);
    for (size_t i = 0; result == 0 && i < weaving->record.count; i++) {
        size_t index;
        result = open_file(weaving, weaving->record.rows[i].name, &index);
        if (result == -ENOENT)
            result = 0; /* who removed it has taken our lines out, too */
    }
    return result;
}

int weave_prepare(const char *tree, const struct weave_rules *rules, const char *prefix,
                  struct weaving *weaving)
{
    *weaving = (struct weaving){0};
    int result = weave_tree_open(tree, &weaving->tree);
    if (result)
        return result;
    result = open_recorded(weaving);
    if (result == 0 && rules)
        result = place_all(weaving, rules, prefix);
    if (result == 0)
        result = finish_files(weaving, rules);
    if (result)
        weaving_free(weaving);
    return result;
}

bool weave_edited(const struct weaving *weaving, const struct weave_file *file)
{
    const struct weave_recorded *recorded = weave_record_find(&weaving->record, file->name);
    return recorded && recorded->sum != weave_sum(file->clean, file->clean_size);
}

void weaving_free(struct weaving *weaving)
{
    for (size_t i = 0; i < weaving->outcome_count && weaving->outcomes; i++)
        free(weaving->outcomes[i].reason);
    for (size_t i = 0; i < weaving->file_count; i++)
        weave_file_free(&weaving->files[i]);
    free(weaving->outcomes);
    free(weaving->files);
    weave_record_free(&weaving->record);
    weave_tree_close(&weaving->tree);
    *weaving = (struct weaving){0};
}
