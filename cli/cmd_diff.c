/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_options.h"
#include "compare.h"
#include "diff_render.h"
#include "err.h"
#include "inputs.h"
#include "interrupt.h"
#include "output_file.h"
#include "output_width.h"
#include "report_output.h"
#include "run_data.h"

#define MOST_CONDITIONS 64

static const char *format, *path, *json, *file;
static const char *between_runs = COMPARE_BETWEEN;
static struct option_words fail_if;
static bool all;

static const struct option_row options[] = {
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &format,
     .text =
         "the form of the answer: text, json, or html, a page with plots of both sides (without "
         "it: text)"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &file,
     .text = "write it to FILE (-: to standard output)"},
    {.name = "json",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &json,
     .text = "write it as JSON to FILE besides (-: to standard output, in place of the text)"},
    {.name = "fail-if",
     .type = OPTION_WORDS,
     .argument = "CONDITION",
     .value = &fail_if,
     .text =
         "exit with status 1 when the condition holds: 'write.p99 > +5%', "
         "'write.opqueue.wait.mean > 200us' (mean, p50, p90, p99 of an op type or of its stage, "
         "against a change that is not chance). Can be given several times"},
    {.name = "between-runs",
     .type = OPTION_STRING,
     .argument = "AMOUNT",
     .value = &between_runs,
     .text = "one run a side: take runs of the same to differ by so much, for reasons that no "
             "single run knows: a standard deviation of every figure, as a part of it, a time, or "
             "both (without it: " COMPARE_BETWEEN ")"},
    {.name = "all",
     .type = OPTION_FLAG,
     .value = &all,
     .text = "show stages that take hardly any time, too"},
    PATH_OPTION_ROW(path),
    {0},
};

/* Everything that a comparison needs, in the order in which it comes about. */
struct comparison {
    int count;
    char **names; /* weak */
    struct side {
        struct compare_side side;
        struct compare_run *runs;   /* owned */
        struct analysis **analyses; /* owned */
        struct report **reports;    /* owned */
        struct diff_run *shown;     /* owned */
    } sides[2];
    struct compare_between between;
    size_t condition_count;
    struct compare_condition conditions[MOST_CONDITIONS];
    char words[MOST_CONDITIONS][160];
};

static int parse_conditions(struct comparison *comparison)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < fail_if.count; i++) {
        const struct option_word *word = &fail_if.words[i];
        char *text = comparison->words[i];
        if (word->length >= sizeof(comparison->words[0]))
            return err_set(EINVAL, "--fail-if: too long");
        memcpy(text, word->text, word->length);
        result = compare_condition_parse(text, &comparison->conditions[i]);
    }
    comparison->condition_count = fail_if.count;
    return result;
}

/* Where the second side begins. */
static int split(int count, char **names, int *before, int *after)
{
    *before = 0;
    while (*before < count && strcmp(names[*before], "vs") != 0)
        ++*before;
    if (*before == count && count == 2)
        *before = *after = 1;
    else
        *after = *before + 1;
    int sides = 1;
    for (int i = 0; i < count; i++)
        sides += strcmp(names[i], "vs") == 0;
    if (*before == 0 || *after >= count || sides > 2)
        return err_set(EINVAL, "diff needs two runs, or several on each side of the word `vs`: "
                               "diff A1 A2 vs B1 B2");
    return 0;
}

static int read_run(char *name, struct side *side, size_t number, struct supervision *supervision)
{
    const volatile int *stop = interrupt_install();
    const struct analysis_options analysis_options = {.path = path, .windows = true};
    struct run_data data = {.counts = {.tracer = ""}};
    int result = analysis_new(&analysis_options, &side->analyses[number]);
    if (result == 0)
        result = run_data_read(&name, 1, side->analyses[number], supervision, stop, &data);
    if (result < 0 && data.counts.damaged > 0)
        result = err_set(EBADMSG, "%s; a part of a run is not compared", data.damage);
    if (result == 0 && *stop)
        result = err_set(EINTR, "interrupted: half a run is not compared");
    if (result == 0)
        result =
            analysis_report(side->analyses[number], &data.counts, NULL, &side->reports[number]);
    if (result < 0)
        return result;
    side->runs[number] =
        (struct compare_run){name, side->reports[number], analysis_windows(side->analyses[number])};
    side->shown[number] = (struct diff_run){name, side->reports[number]};
    return 0;
}

static int read_side(int count, char **names, struct side *side, struct supervision *supervision)
{
    size_t runs = (size_t)count;
    side->runs = calloc(runs, sizeof(*side->runs));
    side->analyses = calloc(runs, sizeof(*side->analyses));
    side->reports = calloc(runs, sizeof(*side->reports));
    side->shown = calloc(runs, sizeof(*side->shown));
    if (!side->runs || !side->analyses || !side->reports || !side->shown)
        return err_no_memory();
    int result = 0;
    for (size_t i = 0; result == 0 && i < runs; i++) {
        side->side.count = i + 1;
        result = read_run(names[i], side, i, supervision);
    }
    side->side.runs = side->runs;
    return result;
}

static void free_side(struct side *side)
{
    for (size_t i = 0; i < side->side.count; i++) {
        report_free(side->reports[i]);
        analysis_free(side->analyses[i]);
    }
    free(side->runs);
    free(side->analyses);
    free(side->reports);
    free(side->shown);
}

/* A comparison on its way to a form. */
struct rendering {
    const char *form;
    const struct comparison *comparison;
    const struct report_diff *diff;
};

static int render(const void *context, FILE *out)
{
    const struct rendering *rendering = context;
    const struct comparison *comparison = rendering->comparison;
    const struct diff_runs sides[2] = {
        {comparison->sides[0].side.count, comparison->sides[0].shown},
        {comparison->sides[1].side.count, comparison->sides[1].shown}};
    if (strcmp(rendering->form, "json") == 0)
        return render_diff_json(rendering->diff, out);
    if (strcmp(rendering->form, "html") == 0)
        return render_diff_html(rendering->diff, sides, all, out);
    return render_diff_text(rendering->diff, out == stdout ? output_width() : 0, all, out);
}

static int write_answer(const struct comparison *comparison, const struct report_diff *diff)
{
    const struct rendering main = {format ? format : "text", comparison, diff};
    const struct rendering beside = {"json", comparison, diff};
    bool to_file = file && !output_is_standard(file);
    /* the files first: a reader who stops reading the terminal's side must not cost them */
    int result = json && !output_is_standard(json) ? output_file_write(json, render, &beside) : 0;
    if (result == 0 && to_file)
        result = output_file_write(file, render, &main);
    if (result == 0 && json && output_is_standard(json))
        return render(&beside, stdout);
    return result < 0 || to_file ? result : render(&main, stdout);
}

/* What cannot be told is a failure, too, but none that costs the answer: *untold has its message.
 */
static int judge(struct comparison *comparison, struct report_diff *diff, char *untold, size_t size)
{
    int result = 0;
    for (size_t i = 0; i < comparison->condition_count; i++) {
        int judged = compare_condition_judge(&comparison->conditions[i], diff);
        if (judged == -ENOMEM)
            return judged;
        if (judged < 0 && result == 0) {
            snprintf(untold, size, "%s", err_message());
            result = judged;
        }
    }
    return result;
}

static int holding(const struct report_diff *diff)
{
    for (size_t i = 0; i < diff->condition_count; i++)
        if (diff->conditions[i].holds)
            return err_set(ECANCELED, "--fail-if '%s' holds: %s", diff->conditions[i].text,
                           diff->conditions[i].why);
    return 0;
}

static int work(void *context, struct supervision *supervision)
{
    struct comparison *comparison = context;
    struct report_diff *diff = NULL;
    char untold[512] = "";
    int before, after;
    int result = split(comparison->count, comparison->names, &before, &after);
    if (result == 0)
        result = read_side(before, comparison->names, &comparison->sides[0], supervision);
    if (result == 0)
        result = read_side(comparison->count - after, comparison->names + after,
                           &comparison->sides[1], supervision);
    supervision->past_the_data = 1;
    if (result == 0)
        result = compare_sides(&comparison->sides[0].side, &comparison->sides[1].side,
                               &comparison->between, &diff);
    int judged = 0;
    if (result == 0)
        judged = judge(comparison, diff, untold, sizeof(untold));
    if (result == 0)
        result = judged == -ENOMEM ? judged : write_answer(comparison, diff);
    if (result == 0)
        result = holding(diff);
    if (result == 0 && judged < 0)
        result = err_set(-judged, "%s", untold);
    report_diff_free(diff);
    free_side(&comparison->sides[0]);
    free_side(&comparison->sides[1]);
    return result;
}

static int run(int argc, char **argv)
{
    static struct comparison comparison;
    const struct supervisor_options supervisor_options = {.data_name = "one of the runs"};
    int before, after;
    if (format && strcmp(format, "text") != 0 && strcmp(format, "json") != 0 &&
        strcmp(format, "html") != 0)
        return err_set(EINVAL, "no form is called '%.32s': text, json or html", format);
    comparison.count = argc;
    comparison.names = argv;
    int result = split(argc, argv, &before, &after);
    const struct report_output written = {.file = file, .json = json};
    if (result == 0)
        result = parse_conditions(&comparison);
    if (result == 0)
        result = compare_between_parse(between_runs, &comparison.between);
    /* a run may be compared with itself; within a side it would count twice */
    if (result == 0)
        result = inputs_count_once(before, argv);
    if (result == 0)
        result = inputs_count_once(argc - after, argv + after);
    if (result == 0)
        result = report_output_check(&written, path, argc, argv);
    if (result < 0)
        return result;
    result = supervise(work, &comparison, &supervisor_options);
    /* wrong use was ruled out before: from here on it is the data */
    return result == -EINVAL ? -EBADMSG : result;
}

const struct command command_diff = {
    .name = "diff",
    .arguments = "BEFORE... [vs] AFTER...",
    .summary = "two runs, or several a side: what changed, how sure",
    .text =
        "Compares two profiles (`optrail report --save`) or traces, or several on each side of the "
        "word `vs`: for each op type and stage, by how much mean and percentiles changed, between "
        "which bounds (95 %), and whether chance alone could do that, all tests together.\n\n"
        "Of one run a side, chance is judged by how windows of time differ (circular block "
        "bootstrap), and by what runs are taken to differ by (--between-runs). Of several runs a "
        "side, by how these differ, which is what counts when caches, placement or neighbours "
        "change from run to run: take turns, one before, one after.\n\n"
        "Where the loads are not comparable (op mix, size, depth, duration, warming up), it says "
        "so. With --fail-if, a change that is both beyond the limit and beyond chance is a "
        "failure.",
    .examples = "optrail diff before.profile after.profile\twhat changed\n"
                "optrail diff a1 a2 a3 vs b1 b2 b3\tthree runs a side: small changes need them\n"
                "optrail diff --format html -o page.html before.profile after.profile\tthe same as "
                "a page, both beside each other\n"
                "optrail diff --fail-if 'write.p99 > +5%' main.profile new.profile\tin CI",
    .options = options,
    .minimum_arguments = 2,
    .maximum_arguments = -1,
    .run = run,
};
