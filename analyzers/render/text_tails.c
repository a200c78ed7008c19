/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tail_words.h"
#include "text_out.h"
#include "units.h"
#include "plural.h"

/* What makes ops slow. A report without a finding has none of this, unless it is asked for. */
#define SHOWN_OPS 3
#define BAR_CELLS 40

static bool has_findings(const struct report *report)
{
    bool found = report->population_count + report->stall_count + report->rhythm_count > 0;
    for (size_t i = 0; i < report->tail_count; i++)
        found |= report->tails[i].common_count > 0;
    return found;
}

static void common_table(const struct report_tail *tail, FILE *out)
{
    fprintf(out, "    %-40s %10s %10s %12s %10s\n", "more of them have", "of all", "of slow",
            "slow ops", "by chance");
    for (size_t i = 0; i < tail->common_count; i++) {
        const struct report_common *common = &tail->common[i];
        char name[TEXT_NAME], number[24], chance[24];
        snprintf(name, sizeof(name), "%.32s %.96s", common->kind, common->value);
        fputs("    ", out);
        text_name(out, name, 40);
        fprintf(out, " %8.1f %% %8.1f %% %12s %10s\n", 100 * common->share,
                100 * common->slow_share, unit_count(common->slow, number, sizeof(number)),
                tail_words_chance(common->probability, chance, sizeof(chance)));
    }
    if (tail->not_kept > 0) {
        char number[24];
        fprintf(out, "    %s time%s a value of an op found no room\n",
                unit_count(tail->not_kept, number, sizeof(number)), plural(tail->not_kept));
    }
}

static void tails(const struct report *report, int width, bool all, FILE *out)
{
    char text[TAIL_WORDS];
    for (size_t i = 0; i < report->tail_count; i++) {
        const struct report_tail *tail = &report->tails[i];
        if (!all && tail->common_count == 0)
            continue;
        text_paragraph(out, 2, width, tail_words(tail, text, sizeof(text)));
        if (tail->common_count > 0)
            common_table(tail, out);
        else
            text_paragraph(out, 4, width,
                           "They have nothing in common that more of them have than of all.");
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
    char text[TAIL_WORDS];
    bool found = has_findings(report);
    if (!found && !all)
        return;
    fputs("\ntails\n", out);
    tails(report, width, all, out);
    for (size_t i = 0; i < report->population_count; i++)
        text_paragraph(out, 2, width,
                       tail_words_population(&report->populations[i], text, sizeof(text)));
    for (size_t i = 0; i < report->stall_count; i++)
        text_paragraph(out, 2, width, tail_words_stall(&report->stalls[i], text, sizeof(text)));
    for (size_t i = 0; i < report->rhythm_count; i++)
        text_paragraph(out, 2, width, tail_words_rhythm(&report->rhythms[i], text, sizeof(text)));
    if (!found && report->tail_count == 0)
        text_paragraph(out, 2, width,
                       "No few ops are slower than the rest, or there are too few ops to tell.");
    for (size_t i = 0; all && i < report->exemplar_count && i < SHOWN_OPS; i++) {
        fputc('\n', out);
        waterfall(&report->exemplars[i], out);
    }
}
