/* SPDX-License-Identifier: MIT */
#include "html_diff_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "units.h"

#define BAR_WIDTH  220
#define BAR_MIDDLE 110

static void change_cell(const struct diff_value *value, FILE *out)
{
    char text[64];
    fprintf(out, "<td class=\"n%s\">%s</td>",
            !value->significant ? ""
            : value->change > 0 ? " slower"
                                : " faster",
            diff_change_text(value, "", text, sizeof(text)));
}

static void interval_cell(const struct diff_value *value, FILE *out)
{
    char text[64];
    if (*diff_interval_text(value, text, sizeof(text)))
        fprintf(out, "<td class=\"n\">%s</td>", text);
    else
        fputs("<td></td>", out);
}

static double bar_x(double change, double largest)
{
    double x = BAR_MIDDLE + change / largest * (BAR_MIDDLE - 8);
    return fmin(BAR_WIDTH - 2, fmax(2, x));
}

/* The interval as a bar, the change as a point on it. */
static void bar_cell(const struct diff_value *value, double largest, FILE *out)
{
    const char *look = !value->significant ? "k2" : value->change > 0 ? "k1" : "k0";
    fprintf(out,
            "<td class=\"interval\" aria-hidden=\"true\"><svg viewBox=\"0 0 %d 20\"><path "
            "class=\"axis\" d=\"M%d 0V20\"/>",
            BAR_WIDTH, BAR_MIDDLE);
    if (value->tested)
        fprintf(out,
                "<path class=\"whisker %s\" d=\"M%.1f 10H%.1f\"/><circle class=\"point %s\" "
                "cx=\"%.1f\" cy=\"10\" r=\"4\"/>",
                look, bar_x(value->low, largest), bar_x(value->high, largest), look,
                bar_x(value->change, largest));
    fputs("</svg></td>", out);
}

static double largest_change(const struct diff_type *type)
{
    double largest = 1;
    for (size_t i = 0; i < type->row_count; i++) {
        const struct diff_value *mean = &type->rows[i].values[DIFF_MEAN];
        if (mean->tested)
            largest = fmax(largest, fmax(fabs(mean->low), fabs(mean->high)));
    }
    return largest;
}

static void heading(const struct diff_type *type, FILE *out)
{
    char before[24], after[24];
    fputs("<h3>", out);
    flame_out_xml(type->type, out);
    fprintf(out, "</h3>\n<p class=\"note\">%s/s before, %s/s after; ",
            unit_rate(type->rate_before, before, sizeof(before)),
            unit_rate(type->rate_after, after, sizeof(after)));
    fprintf(out, "%s and %s ops</p>\n", unit_count(type->ops_before, before, sizeof(before)),
            unit_count(type->ops_after, after, sizeof(after)));
}

void html_diff_type(const struct diff_type *type, bool all, FILE *out)
{
    static const char *const heads[] = {
        "", "#before", "#after", "", "#mean", "#95 % interval, %", "#p50", "#p90", "#p99", NULL};
    double largest = largest_change(type);
    size_t left_out = 0;
    char text[160];
    heading(type, out);
    snprintf(text, sizeof(text), "What changed of %.64s, by stage", type->type);
    html_table_begin(text, heads, out);
    for (size_t i = 0; i < type->row_count; i++) {
        const struct diff_row *row = &type->rows[i];
        const struct diff_value *mean = &row->values[DIFF_MEAN];
        if (!all && !diff_row_is_shown(row, &type->rows[0])) {
            left_out++;
            continue;
        }
        fputs(i == 0 ? "<tr class=\"whole\">" : "<tr>", out);
        html_name_cell(*row->stage ? row->stage : "the whole op", out);
        html_duration_cell((uint64_t)mean->before, out);
        html_duration_cell((uint64_t)mean->after, out);
        bar_cell(mean, largest, out);
        change_cell(mean, out);
        interval_cell(mean, out);
        for (int s = DIFF_P50; s < DIFF_STATISTICS; s++)
            change_cell(&row->values[s], out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    if (left_out > 0) {
        snprintf(text, sizeof(text),
                 "Not shown, for they took less than 1 %% and did not change: %zu (--all).",
                 left_out);
        html_paragraph("note", text, out);
    }
}

void html_diff_percentiles(const struct diff_type *type, FILE *out)
{
    static const char *const heads[] = {"", "#before", "#after", "#change", NULL};
    char label[96];
    snprintf(label, sizeof(label), "Latency of %.64s", type->type);
    html_table_begin(label, heads, out);
    for (int s = 0; s < DIFF_STATISTICS; s++) {
        const struct diff_value *value = &type->rows[0].values[s];
        fputs("<tr>", out);
        html_name_cell(diff_statistic_names[s], out);
        html_duration_cell((uint64_t)value->before, out);
        html_duration_cell((uint64_t)value->after, out);
        change_cell(value, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
}

/* A row of the table of runs: what it is called, and a run's text. */
struct run_fact {
    const char *name;
    void (*text)(const struct report *report, char *text, size_t size);
};

static void daemon_of(const struct report *report, char *text, size_t size)
{
    html_title(report, text, size);
}

static void version_of(const struct report *report, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", report->source.version,
             *report->source.version && *report->source.store ? ", " : "", report->source.store);
}

static void seconds_of(const struct report *report, char *text, size_t size)
{
    snprintf(text, size, "%.1f s", report->source.seconds);
}

static void ops_of(const struct report *report, char *text, size_t size)
{
    unit_count(report->counts.ops, text, size);
}

static void depth_of(const struct report *report, char *text, size_t size)
{
    snprintf(text, size, report->load.seconds > 0 ? "%.1f" : "not known", report->load.in_flight);
}

static void events_of(const struct report *report, char *text, size_t size)
{
    unit_count(report->counts.events, text, size);
}

static void lost_of(const struct report *report, char *text, size_t size)
{
    unit_count(report->counts.lost_events, text, size);
}

static void incomplete_of(const struct report *report, char *text, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->counts.incomplete_count; i++)
        sum += report->counts.incomplete[i].value;
    unit_count(sum, text, size);
}

static const struct run_fact run_facts[] = {
    {"daemon", daemon_of},
    {"version, store", version_of},
    {"time", seconds_of},
    {"ops finished", ops_of},
    {"ops under way, on average", depth_of},
    {"events", events_of},
    {"events lost by the tracer", lost_of},
    {"ops not in the tables", incomplete_of},
};

void html_diff_runs(const struct diff_runs sides[2], size_t most, FILE *out)
{
    char text[256];
    html_section("run", "The runs, and what is missing", out);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"The runs\"><table "
          "class=\"runs\"><thead><tr><td></td>",
          out);
    for (unsigned side = 0; side < 2; side++)
        for (size_t i = 0; i < sides[side].count && i < most; i++) {
            fprintf(out, "<th scope=\"col\" class=\"n\">%s: ", side ? "after" : "before");
            flame_out_xml(sides[side].runs[i].name, out);
            fputs("</th>", out);
        }
    fputs("</tr></thead><tbody>\n", out);
    for (size_t row = 0; row < sizeof(run_facts) / sizeof(*run_facts); row++) {
        fputs("<tr>", out);
        html_name_cell(run_facts[row].name, out);
        for (unsigned side = 0; side < 2; side++)
            for (size_t i = 0; i < sides[side].count && i < most; i++) {
                run_facts[row].text(sides[side].runs[i].report, text, sizeof(text));
                fputs("<td class=\"n\">", out);
                flame_out_xml(text, out);
                fputs("</td>", out);
            }
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    for (unsigned side = 0; side < 2; side++)
        if (sides[side].count > most) {
            snprintf(text, sizeof(text), "And %zu more %s.", sides[side].count - most,
                     side ? "after" : "before");
            html_paragraph("note", text, out);
        }
    fputs("</section>\n", out);
}
