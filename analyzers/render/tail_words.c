/* SPDX-License-Identifier: MIT */
#include "tail_words.h"

#include <math.h>
#include <stdio.h>

#include "units.h"

#define SHOWN_STAGES 3
/* A stage with less of what slow ops take longer is left out. */
#define SMALLEST_SHARE 0.05

char *tail_words(const struct report_tail *tail, char *text, size_t size)
{
    char from[24], longer[24];
    size_t used = (size_t)snprintf(
        text, size, "%.64s: the slowest %.2g %% (%s and more) take %s longer than the mean",
        tail->type, 100 * (double)tail->slow / (double)tail->ops,
        unit_duration(tail->threshold_ns, from, sizeof(from)),
        unit_duration((uint64_t)fmax(tail->slow_ns - tail->mean_ns, 0), longer, sizeof(longer)));
    for (size_t i = 0; i < tail->stage_count && i < SHOWN_STAGES && used < size; i++)
        if (tail->stages[i].share >= SMALLEST_SHARE)
            used += (size_t)snprintf(text + used, size - used, "%s%.0f %% of it in %.64s",
                                     i ? ", " : ": ", 100 * tail->stages[i].share,
                                     tail->stages[i].name);
    if (used < size)
        snprintf(text + used, size - used, ".");
    return text;
}

char *tail_words_population(const struct report_population *row, char *text, size_t size)
{
    char fast[24], slow[24], split[24], where[160] = "";
    double all = (double)(row->fast_ops + row->slow_ops);
    if (*row->stage && row->stage_share >= 0.3)
        snprintf(where, sizeof(where), " %.0f %% of the difference is in %.64s.",
                 100 * row->stage_share, row->stage);
    snprintf(text, size,
             "%.64s: two populations, parted at %s: %.0f %% with a median of %s, %.0f %% with "
             "%s.%s",
             row->type, unit_duration(row->split_ns, split, sizeof(split)),
             100 * (double)row->fast_ops / all, unit_duration(row->fast_ns, fast, sizeof(fast)),
             100 * (double)row->slow_ops / all, unit_duration(row->slow_ns, slow, sizeof(slow)),
             where);
    return text;
}

char *tail_words_stall(const struct report_stall *stall, char *text, size_t size)
{
    char number[24], total[24], longest[24], at[24], open[24];
    size_t used = (size_t)snprintf(
        text, size,
        "%s time%s nothing was answered though ops were open: %s in all, longest %s, at %s, "
        "with %s ops open.",
        unit_count(stall->count, number, sizeof(number)), stall->count == 1 ? "" : "s",
        unit_duration(stall->total_ns, total, sizeof(total)),
        unit_duration(stall->longest_ns, longest, sizeof(longest)),
        unit_duration(stall->longest_at_ns, at, sizeof(at)),
        unit_count(stall->open, open, sizeof(open)));
    for (size_t j = 0; j < stall->stage_count && j < SHOWN_STAGES; j++)
        if (stall->stages[j].share >= SMALLEST_SHARE && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.64s (%.0f %% of their time)",
                                     j ? ", " : " They were in ", stall->stages[j].name,
                                     100 * stall->stages[j].share);
    if (stall->stage_count > 0 && used < size)
        snprintf(text + used, size - used, ".");
    return text;
}

char *tail_words_rhythm(const struct report_rhythm *rhythm, char *text, size_t size)
{
    char period[24], window[24], high[24], mean[24];
    snprintf(text, size,
             "Latency rises every %s (seen in windows of %s, autocorrelation %.2f): on average "
             "%s in the worst quarter of that time, %s over all.",
             unit_duration(rhythm->period_ns, period, sizeof(period)),
             unit_duration(rhythm->window_ns, window, sizeof(window)), rhythm->correlation,
             unit_duration((uint64_t)rhythm->high_ns, high, sizeof(high)),
             unit_duration((uint64_t)rhythm->mean_ns, mean, sizeof(mean)));
    return text;
}

char *tail_words_chance(double probability, char *text, size_t size)
{
    if (probability < 1e-9)
        snprintf(text, size, "< 1e-9");
    else
        snprintf(text, size, "%.0e", probability);
    return text;
}
