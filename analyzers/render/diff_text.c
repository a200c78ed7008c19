/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diff_render.h"
#include "err.h"
#include "text_out.h"
#include "units.h"

#define WIDTH 100
#define NAME  22

static double relative(double change, double before)
{
    return before > 0 ? 100 * change / before : 0;
}

const char *diff_change_text(const struct diff_value *value, const char *chance, char *text,
                             size_t size)
{
    const char *mark = value->significant ? "*" : chance;
    if (value->before <= 0 && value->after <= 0)
        snprintf(text, size, "-");
    else if (!value->tested)
        snprintf(text, size, "few ops");
    else if (value->before <= 0)
        snprintf(text, size, "new%s", mark);
    else
        snprintf(text, size, "%+.1f %%%s", relative(value->change, value->before), mark);
    return text;
}

const char *diff_interval_text(const struct diff_value *value, char *text, size_t size)
{
    *text = '\0';
    if (value->tested && value->before > 0)
        snprintf(text, size, "%+.1f to %+.1f", relative(value->low, value->before),
                 relative(value->high, value->before));
    return text;
}

const char *diff_chance_text(const struct report_diff *diff, char *text, size_t size)
{
    char duration[32];
    int used = snprintf(
        text, size, "* beyond chance: 5 %% for all %zu tests together (Holm). Chance is %s",
        diff->tests,
        diff->between_runs ? "what the runs of a side differ by."
                           : "what windows of time of a run differ by (block bootstrap)");
    if (!diff->between_runs && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used,
                 ", and %g %% and %s that runs of the same are taken to differ by "
                 "(--between-runs).",
                 100 * diff->assumed_part,
                 unit_duration((uint64_t)diff->assumed_ns, duration, sizeof(duration)));
    return text;
}

static void cell(FILE *out, const struct diff_value *value, size_t width)
{
    char text[64];
    diff_change_text(value, " ", text, sizeof(text));
    text_cell(out, text, text_columns(text), width, 1);
}

static void interval(FILE *out, const struct diff_value *value, size_t width)
{
    char text[64];
    diff_interval_text(value, text, sizeof(text));
    text_cell(out, text, text_columns(text), width, 1);
}

static void row(FILE *out, const struct diff_row *row)
{
    const struct diff_value *mean = &row->values[DIFF_MEAN];
    fputs("  ", out);
    text_name(out, *row->stage ? row->stage : "the whole op", NAME);
    text_duration(out, (uint64_t)mean->before, 10);
    text_duration(out, (uint64_t)mean->after, 10);
    cell(out, mean, 11);
    interval(out, mean, 17);
    for (int s = DIFF_P50; s < DIFF_STATISTICS; s++)
        cell(out, &row->values[s], s == DIFF_P50 ? 10 : 9);
    fputc('\n', out);
}

bool diff_row_is_shown(const struct diff_row *row, const struct diff_row *whole)
{
    bool changed = false;
    for (int s = 0; s < DIFF_STATISTICS; s++)
        changed = changed || row->values[s].significant;
    return changed || row == whole ||
           row->values[DIFF_MEAN].before > 0.01 * whole->values[DIFF_MEAN].before ||
           row->values[DIFF_MEAN].after > 0.01 * whole->values[DIFF_MEAN].after;
}

static void type(FILE *out, const struct diff_type *type, bool all)
{
    char before[24], after[24];
    fputc('\n', out);
    text_name(out, type->type, 8);
    fprintf(out, "%s/s before, %s/s after", unit_rate(type->rate_before, before, sizeof(before)),
            unit_rate(type->rate_after, after, sizeof(after)));
    fprintf(out, "   %s and %s ops\n", unit_count(type->ops_before, before, sizeof(before)),
            unit_count(type->ops_after, after, sizeof(after)));
    fprintf(out, "  %-*s%10s%10s%11s%17s%10s%9s%9s\n", NAME, "", "before", "after", "mean ",
            "95 % interval", "p50 ", "p90 ", "p99 ");
    size_t left_out = 0;
    for (size_t i = 0; i < type->row_count; i++) {
        if (all || diff_row_is_shown(&type->rows[i], &type->rows[0]))
            row(out, &type->rows[i]);
        else
            left_out++;
    }
    if (left_out > 0)
        fprintf(out, "  not shown, for they took less than 1 %% and did not change: %zu (--all)\n",
                left_out);
}

int render_diff_text(const struct report_diff *diff, int width, bool all, FILE *out)
{
    char words[512], chance[300];
    if (width <= 0 || width > WIDTH)
        width = WIDTH;
    for (size_t i = 0; i < diff->type_count; i++)
        text_paragraph(out, 2, width, diff->types[i].text);
    if (diff->type_count == 0)
        text_paragraph(out, 2, width, "No side has ops: there is nothing to compare.");
    for (size_t i = 0; i < diff->type_count; i++)
        type(out, &diff->types[i], all);
    fputc('\n', out);
    snprintf(words, sizeof(words), "%s %zu run%s before, %zu after.",
             diff_chance_text(diff, chance, sizeof(chance)), diff->runs_before,
             diff->runs_before == 1 ? "" : "s", diff->runs_after);
    text_paragraph(out, 0, width, words);
    for (size_t i = 0; i < diff->warning_count; i++) {
        snprintf(words, sizeof(words), "Not quite comparable: %s.", diff->warnings[i]);
        text_paragraph(out, 0, width, words);
    }
    for (size_t i = 0; i < diff->condition_count; i++) {
        const struct diff_condition *condition = &diff->conditions[i];
        snprintf(words, sizeof(words), "%s  %s: %s", condition->holds ? "FAIL" : "ok",
                 condition->text, condition->why);
        text_paragraph(out, 0, width, words);
    }
    return ferror(out) ? err_set(EIO, "the comparison cannot be written") : 0;
}
