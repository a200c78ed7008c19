/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "err.h"
#include "plural.h"
#include "weave.h"
#include "weave_build.h"

static const char *rules_file, *probes;
static bool undo, check, print;

static const struct option_row options[] = {
    {.name = "rules",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &rules_file,
     .text = "the rules: a file, a directory of files, or a daemon that rules are shipped for; "
             "left out: ceph (docs/weave.md)"},
    {.name = "probes",
     .type = OPTION_STRING,
     .argument = "DIR",
     .value = &probes,
     .text = "the prefix of the probes that build lines name; left out: that of optrail"},
    {.name = "undo",
     .type = OPTION_FLAG,
     .value = &undo,
     .text = "take the lines back out; the tree has a record of them"},
    {.name = "check",
     .type = OPTION_FLAG,
     .value = &check,
     .text = "tell rule by rule where it would go; change nothing"},
    {.name = "print",
     .type = OPTION_FLAG,
     .value = &print,
     .text = "write the unified diff to standard output; change nothing"},
    {0},
};

/* NAME: FILE:LINE LINE... in FUNCTION */
static void print_place(const struct weaving *weaving, size_t rule, FILE *out)
{
    const struct weave_outcome *outcome = &weaving->outcomes[rule];
    const char *before = ":";
    fprintf(out, "%s: %s", outcome->name, outcome->file);
    for (size_t i = 0; i < weaving->file_count; i++)
        for (size_t k = 0; k < weaving->files[i].line_count; k++)
            if (weaving->files[i].lines[k].rule == rule) {
                fprintf(out, "%s%u", before, weaving->files[i].lines[k].line);
                before = " ";
            }
    if (outcome->function)
        fprintf(out, " in %s", outcome->function);
    putc('\n', out);
}

static void print_outcomes(const struct weaving *weaving, FILE *out)
{
    for (size_t i = 0; i < weaving->outcome_count; i++) {
        const struct weave_outcome *outcome = &weaving->outcomes[i];
        if (outcome->state == WEAVE_PLACED)
            print_place(weaving, i, out);
        else
            fprintf(out, "%s: %s: %s: %s\n", outcome->name,
                    outcome->state == WEAVE_ABSENT ? "passed over" : "refused", outcome->file,
                    outcome->reason);
    }
}

/* Files that do not come back as they were before. */
static void print_edited(const struct weaving *weaving)
{
    for (size_t i = 0; i < weaving->file_count; i++)
        if (weave_edited(weaving, &weaving->files[i]))
            printf("%s: edited since it was woven: only the marked lines are taken out\n",
                   weaving->files[i].name);
    for (size_t i = 0; i < weaving->record.count; i++) {
        size_t k = 0;
        while (k < weaving->file_count &&
               strcmp(weaving->files[k].name, weaving->record.rows[i].name) != 0)
            k++;
        if (k == weaving->file_count)
            printf("%s: woven, and not there any more\n", weaving->record.rows[i].name);
    }
}

/* Neither a record nor a line of ours: maybe other rules were woven. */
static int nothing_to_undo(const struct weaving *weaving)
{
    return err_set(ENOENT,
                   "%s: nothing to undo: " WEAVE_RECORD " is not there, and the %zu file%s of "
                   "--rules %s that are there have no lines of ours: name the --rules that were "
                   "woven",
                   weaving->tree.name, weaving->file_count, plural(weaving->file_count),
                   rules_file ? rules_file : "ceph");
}

/* Lines that name probes which are not installed are right when they will be. */
static void print_probes(const struct weaving *weaving)
{
    bool named = false;
    for (size_t i = weaving->rule_count; i < weaving->outcome_count; i++)
        named |= weaving->outcomes[i].state == WEAVE_PLACED;
    if (named && !probes && !weave_probes_there(OPTRAIL_PREFIX))
        fprintf(stderr,
                "the build lines name %s, where the probes are not installed: cmake --install "
                "build, or name their prefix, --probes DIR\n",
                OPTRAIL_PREFIX);
}

static int carry_out(const struct weaving *weaving)
{
    struct weave_written written;
    if (undo)
        print_edited(weaving);
    else
        print_outcomes(weaving, print ? stderr : stdout);
    if (!undo)
        print_probes(weaving);
    int result = 0;
    if (check || print) {
        if (weaving->refused)
            result = err_set(EBADMSG, "%zu of %zu rules are refused", weaving->refused,
                             weaving->outcome_count);
        else if (print)
            weave_diff(weaving, stdout);
        return result;
    }
    result = weave_write(weaving, undo, &written);
    if (written.strays)
        printf("%zu file%s that an interrupted run left: removed\n", written.strays,
               plural(written.strays));
    if (result)
        return result;
    if (undo && !weaving->recorded && !written.changed && !written.strays)
        return nothing_to_undo(weaving);
    if (written.disowned)
        printf("%zu of the files could not be given to their owner or group: see to it\n",
               written.disowned);
    printf("%zu of %zu files changed\n", written.changed, weaving->file_count);
    return 0;
}

/* The name of a daemon stands for the rules that are shipped for it. */
static const char *rules_name(void)
{
    const char *name = rules_file ? rules_file : "ceph";
    const char *shipped = strchr(name, '/') || strchr(name, '.') ? NULL : weave_rules_shipped(name);
    return shipped ? shipped : name;
}

/* Whether the tree has a record of what was woven. */
static bool is_recorded(const char *name)
{
    struct weave_tree tree;
    struct weave_record record;
    bool recorded = true; /* what cannot be read is told when it is needed */
    if (weave_tree_open(name, &tree) < 0)
        return true;
    if (weave_record_read(&tree, &record, &recorded) < 0)
        recorded = true;
    else
        weave_record_free(&record);
    weave_tree_close(&tree);
    return recorded;
}

static int weave(const char *tree, const struct weave_rules *rules)
{
    struct weaving weaving;
    char *prefix = NULL;
    int result = probes && !undo ? weave_probes_prefix(probes, &prefix) : 0;
    if (result == 0)
        result = weave_prepare(tree, rules, prefix ? prefix : OPTRAIL_PREFIX, &weaving);
    if (result == 0) {
        result = carry_out(&weaving);
        weaving_free(&weaving);
    }
    free(prefix);
    return result;
}

static int run(int argc, char **argv)
{
    struct weave_rules rules;
    (void)argc;
    if (undo + check + print > 1)
        return err_set(EINVAL, "only one of --undo, --check and --print at a time");
    int result;
    if (undo && !rules_file && is_recorded(argv[0])) {
        result = weave(argv[0], NULL);
    } else {
        result = weave_rules_read(rules_name(), &rules);
        if (result == 0) {
            result = weave(argv[0], &rules);
            weave_rules_free(&rules);
        }
    }
    /* the arguments were understood: it is the data */
    return result == -EINVAL ? -EBADMSG : result;
}

const struct command command_weave = {
    .name = "weave",
    .arguments = "TREE",
    .summary = "put probe calls into a daemon's source, by rules",
    .text = "Changes the C++ files of a source tree in place: each rule names files, a function, a "
            "place in it and a probe call, which becomes a line of its own with a mark. Weaving "
            "twice changes nothing more, and --undo gives the files back to the byte. When one "
            "rule has no place, or more than one, nothing is changed; the file, the rule and the "
            "reason are told.",
    .examples = "optrail weave --rules rules.yaml --check ceph\twhere each rule would go\n"
                "optrail weave --rules rules.yaml --print ceph > probes.diff\ta patch for others\n"
                "optrail weave --rules rules.yaml ceph\tchange the tree\n"
                "optrail weave --undo ceph\tand back",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = 1,
    .run = run,
};
