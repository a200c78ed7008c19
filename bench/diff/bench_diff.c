/* SPDX-License-Identifier: MIT */
/*
 * bench-diff PATH-FILE [PAIRS [SECONDS [RATE [NAME]]]]: what `optrail diff` is worth. Pairs of
 * synthetic runs that are the same but for chance: how many of them it says differ (at most 5 %
 * may). And pairs of which the second one's journal writes take 5, 10, 20 % longer: how often it
 * says that something changed, and how often that it was that stage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "err.h"
#include "synthetic_run.h"

#define MOST_RUNS 3

struct settings {
    const char *path;
    size_t pairs;
    double seconds, rate;
    const char *only; /* rows of this name; NULL: all */
    struct compare_between between;
};

struct outcome {
    size_t changed, named, wrong; /* wrong: another stage was named */
};

/* How much a run as a whole is off, where runs differ by more than their windows do. */
static double mood_of(uint64_t seed, double spread)
{
    uint64_t x = (seed + 1) * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 29;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 32;
    return 1 + spread * (2 * ((double)(x >> 11) / 9007199254740992.0) - 1);
}

static int one_pair(const struct settings *settings, enum run_kind kind, size_t runs, double spread,
                    double journal, uint64_t seed, struct outcome *outcome)
{
    struct analysis *analyses[2 * MOST_RUNS] = {0};
    struct report *reports[2 * MOST_RUNS] = {0};
    struct compare_run rows[2 * MOST_RUNS];
    const struct analysis_options options = {.path = settings->path, .windows = true};
    struct report_diff *diff = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 2 * runs; i++) {
        const struct run_plan plan = {.kind = kind,
                                      .seed = 2 * MOST_RUNS * seed + i + 1,
                                      .seconds = settings->seconds,
                                      .rate = settings->rate,
                                      .journal = i < runs ? 1 : journal,
                                      .mood = mood_of(8 * seed + i, spread)};
        rc = analysis_new(&options, &analyses[i]);
        if (rc == 0)
            rc = synthetic_run(&plan, analyses[i], &reports[i]);
        if (rc == 0)
            rows[i] = (struct compare_run){"run", reports[i], analysis_windows(analyses[i])};
    }
    const struct compare_side before = {runs, rows}, after = {runs, rows + runs};
    if (rc == 0)
        rc = compare_sides(&before, &after, &settings->between, &diff);
    bool changed = false, named = false, wrong = false;
    for (size_t i = 0; rc == 0 && i < diff->type_count; i++) {
        changed = changed || diff->types[i].changed;
        named = named || strcmp(diff->types[i].cause, "journal.write") == 0;
        wrong =
            wrong || (*diff->types[i].cause && strcmp(diff->types[i].cause, "journal.write") != 0);
    }
    outcome->changed += changed;
    outcome->named += named;
    outcome->wrong += wrong;
    report_diff_free(diff);
    for (size_t i = 0; i < 2 * runs; i++) {
        report_free(reports[i]);
        analysis_free(analyses[i]);
    }
    return rc;
}

static int row(const struct settings *settings, const char *name, enum run_kind kind, size_t runs,
               double spread, double journal)
{
    struct outcome outcome = {0};
    int rc = 0;
    size_t pairs = journal > 1 ? (settings->pairs + 3) / 4 : settings->pairs;
    if (settings->only && strcmp(settings->only, name) != 0)
        return 0;
    for (size_t i = 0; rc == 0 && i < pairs; i++)
        rc = one_pair(settings, kind, runs, spread, journal, i + 1000 * (uint64_t)(journal * 100),
                      &outcome);
    if (rc < 0)
        return rc;
    double all = (double)pairs / 100;
    printf("%-14s %zu run%s a side  journal.write %+3.0f %%   changed %5.1f %%   named %5.1f %%   "
           "another stage %5.1f %%\n",
           name, runs, runs == 1 ? " " : "s", 100 * (journal - 1), (double)outcome.changed / all,
           (double)outcome.named / all, (double)outcome.wrong / all);
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const double injected[] = {1, 1.05, 1.10, 1.20};
    if (argc < 2) {
        fprintf(stderr, "usage: bench-diff PATH-FILE [PAIRS [SECONDS [RATE [NAME]]]]\n");
        return 2;
    }
    struct settings settings = {.path = argv[1],
                                .pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 200,
                                .seconds = argc > 3 ? strtod(argv[3], NULL) : 10,
                                .rate = argc > 4 ? strtod(argv[4], NULL) : 500,
                                .only = argc > 5 ? argv[5] : NULL};
    if (settings.pairs == 0 || !(settings.seconds > 0) || !(settings.rate > 0))
        return 2;
    if (compare_between_parse(COMPARE_BETWEEN, &settings.between) < 0)
        return 2;
    printf("%zu pairs that are the same, a quarter as many that are not; runs of %g s at %g op/s\n",
           settings.pairs, settings.seconds, settings.rate);
    int rc = 0;
    for (int kind = 0; kind < RUN_KINDS; kind++)
        for (size_t i = 0; rc == 0 && i < sizeof(injected) / sizeof(*injected); i++)
            rc = row(&settings, run_kind_names[kind], (enum run_kind)kind, 1, 0, injected[i]);
    /* runs that differ as a whole, by up to 3 %: one a side cannot know that */
    for (size_t i = 0; rc == 0 && i < sizeof(injected) / sizeof(*injected); i++)
        rc = row(&settings, "runs differ", RUN_QUEUE, MOST_RUNS, 0.03, injected[i]);
    if (rc == 0)
        rc = row(&settings, "runs differ", RUN_QUEUE, 1, 0.03, 1);
    if (rc < 0)
        fprintf(stderr, "bench-diff: %s\n", err_message());
    return rc < 0;
}
