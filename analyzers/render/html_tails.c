/* SPDX-License-Identifier: MIT */
/* Slow ops against all: what makes them slow, what they have in common, and when. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_parts.h"
#include "html_plots.h"
#include "tail_words.h"
#include "plural.h"
#include "units.h"

/* A stage that makes less of the difference, or of a stall, is not shown. */
#define SMALLEST 0.01

static void say_left_out(size_t count, FILE *out)
{
    char text[96];
    snprintf(text, sizeof(text), "Not shown, for they make less than 1 %% of it: %zu.", count);
    if (count > 0)
        html_paragraph("note", text, out);
}

static void stage_table(const struct report_tail *tail, FILE *out)
{
    static const char *const heads[] = {"stage", "#an op, of all",           "#of the slow",
                                        "",      "#of what they are slower", NULL};
    double longest = 1;
    size_t left_out = 0;
    char label[160];
    for (size_t i = 0; i < tail->stage_count; i++)
        longest = fmax(longest, fmax(tail->stages[i].mean_ns, tail->stages[i].slow_ns));
    snprintf(label, sizeof(label), "Stages of slow %.64s ops and of all", tail->type);
    html_table_begin(label, heads, out);
    for (size_t i = 0; i < tail->stage_count; i++) {
        const struct report_tail_stage *stage = &tail->stages[i];
        if (fabs(stage->share) < SMALLEST) {
            left_out++;
            continue;
        }
        fputs("<tr>", out);
        html_name_cell(stage->name, out);
        html_duration_cell((uint64_t)(stage->mean_ns + 0.5), out);
        html_duration_cell((uint64_t)(stage->slow_ns + 0.5), out);
        html_meter_cell(stage->mean_ns / longest, stage->slow_ns / longest, out);
        html_share_cell(stage->share, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    say_left_out(left_out, out);
}

static void common_table(const struct report_tail *tail, FILE *out)
{
    static const char *const heads[] = {
        "more of them have", "#of all", "#of the slow", "", "#slow ops", "#by chance", NULL};
    char text[TAIL_WORDS];
    if (tail->common_count == 0)
        html_paragraph("", "They have nothing in common that more of them have than of all.", out);
    else
        html_table_begin("What slow ops have in common", heads, out);
    for (size_t i = 0; i < tail->common_count; i++) {
        const struct report_common *common = &tail->common[i];
        snprintf(text, sizeof(text), "%.32s %.256s", common->kind, common->value);
        fputs("<tr>", out);
        html_name_cell(text, out);
        html_share_cell(common->share, out);
        html_share_cell(common->slow_share, out);
        html_meter_cell(common->share, common->slow_share, out);
        html_count_cell(common->slow, out);
        fputs("<td class=\"n\">", out);
        flame_out_xml(tail_words_chance(common->probability, text, sizeof(text)), out);
        fputs("</td></tr>\n", out);
    }
    if (tail->common_count > 0)
        html_table_end(out);
    if (tail->not_kept > 0) {
        char number[32];
        snprintf(text, sizeof(text), "%s time%s a value of an op found no room.",
                 unit_count(tail->not_kept, number, sizeof(number)), plural(tail->not_kept));
        html_paragraph("note", text, out);
    }
}

static void populations(const struct report *report, FILE *out)
{
    char text[TAIL_WORDS];
    for (size_t i = 0; i < report->population_count; i++) {
        const struct report_population *row = &report->populations[i];
        html_paragraph("", tail_words_population(row, text, sizeof(text)), out);
        for (size_t j = 0; j < report->op_count; j++)
            if (strcmp(report->ops[j].type, row->type) == 0)
                html_histogram_picture(&report->ops[j], row->split_ns, HTML_WIDE, out);
    }
}

static void stalls(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"meanwhile in", "#of the open ops' time", "", NULL};
    char text[TAIL_WORDS];
    for (size_t i = 0; i < report->stall_count; i++) {
        const struct report_stall *stall = &report->stalls[i];
        html_paragraph("", tail_words_stall(stall, text, sizeof(text)), out);
        if (stall->stage_count == 0)
            continue;
        html_table_begin("Where ops were while nothing was answered", heads, out);
        size_t left_out = 0;
        for (size_t j = 0; j < stall->stage_count; j++) {
            if (stall->stages[j].share < SMALLEST) {
                left_out++;
                continue;
            }
            fputs("<tr>", out);
            html_name_cell(stall->stages[j].name, out);
            html_share_cell(stall->stages[j].share, out);
            html_meter_cell(0, stall->stages[j].share, out);
            fputs("</tr>\n", out);
        }
        html_table_end(out);
        say_left_out(left_out, out);
    }
}

void html_tails(const struct report *report, FILE *out)
{
    char text[TAIL_WORDS];
    if (report->counts.ops == 0)
        return;
    html_section("tails", "Slow ops against all", out);
    if (report->tail_count == 0)
        html_paragraph(
            "note", "No few ops are slower than the rest, or there are too few ops to tell.", out);
    else
        fputs("<p class=\"note\"><span class=\"key\">of all ops</span> &nbsp; <span class=\"key "
              "k1\">of the slow ones</span></p>\n",
              out);
    for (size_t i = 0; i < report->tail_count; i++) {
        html_paragraph("", tail_words(&report->tails[i], text, sizeof(text)), out);
        stage_table(&report->tails[i], out);
        common_table(&report->tails[i], out);
    }
    if (report->population_count > 0)
        fputs("<h3>Two populations</h3>\n", out);
    populations(report, out);
    if (report->stall_count > 0)
        fputs("<h3>Stalls</h3>\n", out);
    stalls(report, out);
    if (report->rhythm_count > 0)
        fputs("<h3>A rhythm</h3>\n", out);
    for (size_t i = 0; i < report->rhythm_count; i++)
        html_paragraph("", tail_words_rhythm(&report->rhythms[i], text, sizeof(text)), out);
    fputs("</section>\n", out);
}
