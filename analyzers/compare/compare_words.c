/* SPDX-License-Identifier: MIT */
/* The plain sentences of a comparison. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare_private.h"
#include "report.h"

#define WORDS 1024

/* "850 ns", "21.3 µs", with its sign. */
static const char *duration(double ns, char *out, size_t size)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (fabs(ns) >= units[i].ns) {
            snprintf(out, size, "%+.3g %s", ns / units[i].ns, units[i].name);
            return out;
        }
    snprintf(out, size, "%+.0f ns", ns);
    return out;
}

static double percent(double change, double before)
{
    return before > 0 ? 100 * change / before : 0;
}

/* Data that would not show a change by so many percent says nothing. */
#define BLIND 200

/* A stage with less of the op's change than this is no cause of it. */
#define NOTABLE 0.1

/* Of the stages whose mean changed, the one that changed most; where none did, that of the greatest
 * change of a percentile. NULL, too, when the op changed and none of them has a notable part. */
static const struct diff_row *find_cause(const struct diff_type *type)
{
    const struct diff_value *whole = &type->rows[0].values[DIFF_MEAN];
    const struct diff_row *cause = NULL;
    double most = 0;
    for (size_t i = 1; i < type->row_count; i++) {
        const struct diff_value *mean = &type->rows[i].values[DIFF_MEAN];
        if (mean->significant && fabs(mean->change) > most) {
            most = fabs(mean->change);
            cause = &type->rows[i];
        }
    }
    if (whole->significant)
        return most >= NOTABLE * fabs(whole->change) ? cause : NULL;
    for (size_t i = 1; i < type->row_count && most == 0; i++)
        for (int s = DIFF_P50; s < DIFF_STATISTICS; s++)
            if (type->rows[i].values[s].significant)
                cause = &type->rows[i];
    return cause;
}

static void add(char *text, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, WORDS - used, "%s%s", used ? " " : "", more);
}

/* The op itself: its mean, or else the percentiles that changed. */
static void say_whole(const struct diff_type *type, char *text)
{
    const struct diff_value *mean = &type->rows[0].values[DIFF_MEAN];
    char line[400], change[32];
    if (mean->significant) {
        snprintf(line, sizeof(line),
                 "%s: %s by %.1f %% on average (95 %%: %+.1f to %+.1f %%), %s an op.", type->type,
                 mean->change > 0 ? "slower" : "faster", fabs(percent(mean->change, mean->before)),
                 percent(mean->low, mean->before), percent(mean->high, mean->before),
                 duration(mean->change, change, sizeof(change)));
        add(text, line);
        return;
    }
    snprintf(line, sizeof(line),
             "%s: the mean of the whole op differs by no more than chance makes it.", type->type);
    add(text, line);
    for (int s = DIFF_P50; s < DIFF_STATISTICS; s++) {
        const struct diff_value *value = &type->rows[0].values[s];
        if (!value->significant)
            continue;
        snprintf(line, sizeof(line), "Its %s changed by %+.1f %%.", diff_statistic_names[s],
                 percent(value->change, value->before));
        add(text, line);
    }
}

/* `whole`: the op itself changed, too. */
static void say_cause(const struct diff_row *cause, bool whole, char *text)
{
    const struct diff_value *mean = &cause->values[DIFF_MEAN];
    char line[400], change[32];
    if (mean->significant) {
        snprintf(line, sizeof(line), "%s %s: %s an op",
                 whole ? "What changed most is" : "But one of its stages changed,", cause->stage,
                 duration(mean->change, change, sizeof(change)));
        add(text, line);
        if (mean->before > 0)
            snprintf(line, sizeof(line), "(%+.1f %% of its time).",
                     percent(mean->change, mean->before));
        else
            snprintf(line, sizeof(line), "(it was not there before).");
        add(text, line);
        return;
    }
    for (int s = DIFF_P50; s < DIFF_STATISTICS; s++)
        if (cause->values[s].significant) {
            snprintf(line, sizeof(line), "The %s of %s changed by %+.1f %%.",
                     diff_statistic_names[s], cause->stage,
                     percent(cause->values[s].change, cause->values[s].before));
            add(text, line);
        }
}

static void say_nothing(const struct diff_type *type, char *text)
{
    const struct diff_value *mean = &type->rows[0].values[DIFF_MEAN];
    char line[400];
    if (!mean->tested)
        snprintf(line, sizeof(line),
                 "%s: nothing can be said: too few ops, too short a time, or a profile that was "
                 "saved without sums by windows of time.",
                 type->type);
    else if (percent(mean->detectable, mean->before) > BLIND)
        snprintf(line, sizeof(line),
                 "%s: no difference that this data can show, and it can show next to none: too few "
                 "runs, or runs that differ too much among themselves.",
                 type->type);
    else
        snprintf(line, sizeof(line),
                 "%s: no difference that this data can show. Had the mean changed by %.1f %%, it "
                 "would have shown that in four cases of five.",
                 type->type, percent(mean->detectable, mean->before));
    add(text, line);
}

int add_words(struct diff_type *type)
{
    char text[WORDS] = "";
    for (size_t i = 0; i < type->row_count; i++)
        for (int s = 0; s < DIFF_STATISTICS; s++)
            type->changed = type->changed || type->rows[i].values[s].significant;
    const struct diff_row *cause = find_cause(type);
    int rc = cause ? report_set_string(&type->cause, cause->stage) : 0;
    if (!type->changed)
        say_nothing(type, text);
    else
        say_whole(type, text);
    if (cause)
        say_cause(cause, type->rows[0].values[DIFF_MEAN].significant, text);
    else if (type->rows[0].values[DIFF_MEAN].significant)
        add(text, "No stage is known to have a tenth of that or more.");
    return rc < 0 ? rc : report_set_string(&type->text, text);
}
