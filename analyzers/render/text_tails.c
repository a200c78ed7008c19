/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text_out.h"
#include "units.h"
#include "plural.h"

/* What makes ops slow. A report without a finding has none of this, unless it is asked for. */
#define SHOWN_STAGES 3
#define SHOWN_OPS    3
#define BAR_CELLS    40
/* A stage with less of what slow ops take longer is left out. */
#define SMALLEST_SHARE 0.05

static bool has_findings(const struct report *report)
{
    bool found = report->population_count + report->stall_count + report->rhythm_count > 0;
    for (size_t i = 0; i < report->tail_count; i++)
        found |= report->tails[i].common_count > 0;
    return found;
}

static void tail_sentence(const struct report_tail *tail, int width, FILE *out)
{
    char text[1024], from[24], longer[24];
    size_t used = (size_t)snprintf(
        text, sizeof(text), "%.64s: the slowest %.2g %% (%s and more) take %s longer than the mean",
        tail->type, 100 * (double)tail->slow / (double)tail->ops,
        unit_duration(tail->threshold_ns, from, sizeof(from)),
        unit_duration((uint64_t)fmax(tail->slow_ns - tail->mean_ns, 0), longer, sizeof(longer)));
    for (size_t i = 0; i < tail->stage_count && i < SHOWN_STAGES; i++)
        if (tail->stages[i].share >= SMALLEST_SHARE)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.0f %% of it in %.64s",
                                     i ? ", " : ": ", 100 * tail->stages[i].share,
                                     tail->stages[i].name);
    snprintf(text + used, sizeof(text) - used, ".");
    text_paragraph(out, 2, width, text);
}

static void common_table(const struct report_tail *tail, FILE *out)
{
    fprintf(out, "    %-40s %10s %10s %12s %10s\n", "more of them have", "of all", "of slow",
            "slow ops", "by chance");
    for (size_t i = 0; i < tail->common_count; i++) {
        const struct report_common *common = &tail->common[i];
        char name[TEXT_NAME], number[24], chance[24];
        snprintf(name, sizeof(name), "%.32s %.96s", common->kind, common->value);
        if (common->probability < 1e-9)
            snprintf(chance, sizeof(chance), "< 1e-9");
        else
            snprintf(chance, sizeof(chance), "%.0e", common->probability);
        fputs("    ", out);
        text_name(out, name, 40);
        fprintf(out, " %8.1f %% %8.1f %% %12s %10s\n", 100 * common->share,
                100 * common->slow_share, unit_count(common->slow, number, sizeof(number)), chance);
    }
    if (tail->not_kept > 0) {
        char number[24];
        fprintf(out, "    %s time%s a value of an op found no room\n",
                unit_count(tail->not_kept, number, sizeof(number)), plural(tail->not_kept));
    }
}

static void tails(const struct report *report, int width, bool all, FILE *out)
{
    for (size_t i = 0; i < report->tail_count; i++) {
        const struct report_tail *tail = &report->tails[i];
        if (!all && tail->common_count == 0)
            continue;
        tail_sentence(tail, width, out);
        if (tail->common_count > 0)
            common_table(tail, out);
        else
            text_paragraph(out, 4, width,
                           "They have nothing in common that more of them have than of all.");
    }
}

static void populations(const struct report *report, int width, FILE *out)
{
    for (size_t i = 0; i < report->population_count; i++) {
        const struct report_population *row = &report->populations[i];
        char text[512], fast[24], slow[24], split[24], where[160] = "";
        double all = (double)(row->fast_ops + row->slow_ops);
        if (*row->stage && row->stage_share >= 0.3)
            snprintf(where, sizeof(where), " %.0f %% of the difference is in %.64s.",
                     100 * row->stage_share, row->stage);
        snprintf(text, sizeof(text),
                 "%.64s: two populations, parted at %s: %.0f %% with a median of %s, %.0f %% with "
                 "%s.%s",
                 row->type, unit_duration(row->split_ns, split, sizeof(split)),
                 100 * (double)row->fast_ops / all, unit_duration(row->fast_ns, fast, sizeof(fast)),
                 100 * (double)row->slow_ops / all, unit_duration(row->slow_ns, slow, sizeof(slow)),
                 where);
        text_paragraph(out, 2, width, text);
    }
}

static void stalls(const struct report *report, int width, FILE *out)
{
    for (size_t i = 0; i < report->stall_count; i++) {
        const struct report_stall *stall = &report->stalls[i];
        char text[512], number[24], total[24], longest[24], at[24], open[24];
        size_t used = (size_t)snprintf(
            text, sizeof(text),
            "%s time%s nothing was answered though ops were open: %s in all, longest %s, at %s, "
            "with %s ops open.",
            unit_count(stall->count, number, sizeof(number)), stall->count == 1 ? "" : "s",
            unit_duration(stall->total_ns, total, sizeof(total)),
            unit_duration(stall->longest_ns, longest, sizeof(longest)),
            unit_duration(stall->longest_at_ns, at, sizeof(at)),
            unit_count(stall->open, open, sizeof(open)));
        for (size_t j = 0; j < stall->stage_count && j < SHOWN_STAGES; j++)
            if (stall->stages[j].share >= SMALLEST_SHARE && used < sizeof(text))
                used +=
                    (size_t)snprintf(text + used, sizeof(text) - used,
                                     "%s%.64s (%.0f %% of their time)", j ? ", " : " They were in ",
                                     stall->stages[j].name, 100 * stall->stages[j].share);
        if (stall->stage_count > 0 && used < sizeof(text))
            snprintf(text + used, sizeof(text) - used, ".");
        text_paragraph(out, 2, width, text);
    }
}

static void rhythms(const struct report *report, int width, FILE *out)
{
    for (size_t i = 0; i < report->rhythm_count; i++) {
        const struct report_rhythm *rhythm = &report->rhythms[i];
        char text[512], period[24], window[24], high[24], mean[24];
        snprintf(text, sizeof(text),
                 "Latency rises every %s (seen in windows of %s, autocorrelation %.2f): on average "
                 "%s in the worst quarter of that time, %s over all.",
                 unit_duration(rhythm->period_ns, period, sizeof(period)),
                 unit_duration(rhythm->window_ns, window, sizeof(window)), rhythm->correlation,
                 unit_duration((uint64_t)rhythm->high_ns, high, sizeof(high)),
                 unit_duration((uint64_t)rhythm->mean_ns, mean, sizeof(mean)));
        text_paragraph(out, 2, width, text);
    }
}

static void waterfall(const struct report_exemplar *exemplar, FILE *out)
{
    char number[24];
    double whole = (double)exemplar->latency_ns;
    fputs("  ", out);
    text_name(out, exemplar->type, 12);
    fprintf(out, " %s", unit_duration(exemplar->latency_ns, number, sizeof(number)));
    if (exemplar->client)
        fprintf(out, "   client %" PRIu64 " tid %" PRIu64, exemplar->client, exemplar->tid);
    fputc('\n', out);
    for (size_t i = 0; i < exemplar->span_count; i++) {
        const struct report_exemplar_span *span = &exemplar->spans[i];
        int begin = (int)((double)span->begin_ns / whole * BAR_CELLS);
        int cells = (int)lround((double)(span->begin_ns + span->ns) / whole * BAR_CELLS) - begin;
        fputs("    ", out);
        text_name(out, span->stage, 26);
        text_duration(out, span->begin_ns, 10);
        text_duration(out, span->ns, 10);
        fprintf(out, "  %*s", begin, "");
        for (int cell = 0; cell < (cells > 0 ? cells : 1); cell++)
            fputs(cells > 0 ? "█" : "▏", out);
        fputc('\n', out);
    }
}

void text_tails(FILE *out, const struct report *report, int width, bool all)
{
    bool found = has_findings(report);
    if (!found && !all)
        return;
    fputs("\ntails\n", out);
    tails(report, width, all, out);
    populations(report, width, out);
    stalls(report, width, out);
    rhythms(report, width, out);
    if (!found && report->tail_count == 0)
        text_paragraph(out, 2, width,
                       "No few ops are slower than the rest, or there are too few ops to tell.");
    for (size_t i = 0; all && i < report->exemplar_count && i < SHOWN_OPS; i++) {
        fputc('\n', out);
        waterfall(&report->exemplars[i], out);
    }
}
