/* SPDX-License-Identifier: MIT */
/* The report as one page that needs nothing else: no network, no other file, no library. */
#include <stdio.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_parts.h"
#include "html_plots.h"
#include "plural.h"
#include "renderers.h"
#include "units.h"

/* More op types than this would not be told apart by their lines. */
#define CURVES 4

static void words(char *const *list, const char *before, const char *tag, FILE *out)
{
    for (; list && *list; list++) {
        fprintf(out, "%s<%s>", before, tag);
        flame_out_xml(*list, out);
        fprintf(out, "</%s>", tag);
    }
}

void html_verdict_details(const struct report_verdict *verdict, FILE *out)
{
    if (verdict->evidence && *verdict->evidence) {
        fputs("<ul class=\"evidence\">", out);
        words(verdict->evidence, "", "li", out);
        fputs("</ul>\n", out);
    }
    if (verdict->knobs && *verdict->knobs) {
        fputs("<p class=\"knobs\">Options that govern it:", out);
        words(verdict->knobs, " ", "code", out);
        fputs("</p>\n", out);
    }
}

void html_verdict(const struct report *report, FILE *out)
{
    html_section("verdict", "Verdict", out);
    if (report->verdict_count == 0)
        html_paragraph("lead", "Nothing stands out: no cause was found in this data.", out);
    for (size_t i = 0; i < report->verdict_count; i++) {
        html_paragraph(i == 0 ? "lead" : "further", report->verdicts[i].text, out);
        html_verdict_details(&report->verdicts[i], out);
    }
    fputs("</section>\n", out);
}

void html_heat(const struct report *report, FILE *out)
{
    struct html_heat_scale scale = {0};
    char number[24], text[160];
    html_section("time", "Latency over time", out);
    if (!html_heat_widen(&scale, &report->heat)) {
        html_paragraph("note",
                       report_is_imported(report)
                           ? "Not known: of imported ops only how long they took is kept, not when."
                           : "Not known: the ops were summed up without their times, as the kernel "
                             "does it live.",
                       out);
        fputs("</section>\n", out);
        return;
    }
    html_heat_picture(&report->heat, &scale,
                      "Heat map: each column is a span of time, each row a range of latency; the "
                      "darker, the more ops. A table follows.",
                      HTML_WIDE, out);
    snprintf(text, sizeof(text),
             "Ops by the time they finished, in spans of %s. Each step of the shade is twice as "
             "many ops.",
             unit_duration(report->heat.window_ns, number, sizeof(number)));
    html_paragraph("note", text, out);
    fputs("</section>\n", out);
}

static void curve_table(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"type", "#ops",   "#mean", "#p50", "#p90",
                                        "#p99", "#p99.9", "#max",  NULL};
    html_table_begin("Latency by op type", heads, out);
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_latency *latency = &report->ops[i].latency;
        fputs("<tr>", out);
        html_name_cell(report->ops[i].type, out);
        html_count_cell(report->ops[i].count, out);
        html_duration_cell((uint64_t)(latency->mean + 0.5), out);
        html_duration_cell(latency->p50, out);
        html_duration_cell(latency->p90, out);
        html_duration_cell(latency->p99, out);
        html_duration_cell(latency->p999, out);
        html_duration_cell(latency->max, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
}

void html_curves(const struct report *report, FILE *out)
{
    struct html_curve curves[CURVES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < report->op_count && count < CURVES; i++) {
        const struct report_op *op = &report->ops[i];
        if (op->curve_count > 0) {
            curves[count] =
                (struct html_curve){op->type, op->curve, op->curve_count, (unsigned)count, false};
            count++;
        }
    }
    if (report->op_count == 0)
        return;
    html_section("percentiles", "Percentiles", out);
    html_curves_picture(curves, count,
                        "Latency by quantile, a line for each op type; a table follows.", HTML_WIDE,
                        out);
    if (count > 0)
        html_paragraph("note", "So many of the ops take at most so long.", out);
    curve_table(report, out);
    fputs("</section>\n", out);
}

static void subtitle_of(const struct report *report, char *text, size_t size)
{
    char ops[32];
    snprintf(text, size, "%.1f s, %s op%s%s%.64s%s%.64s", report->source.seconds,
             unit_count(report->counts.ops, ops, sizeof(ops)), plural(report->counts.ops),
             *report->source.version ? ", " : "", report->source.version,
             *report->source.store ? ", " : "", report->source.store);
}

int render_html(const struct report *report, const struct render_options *options, FILE *out)
{
    char title[256], subtitle[256];
    (void)options;
    html_title(report, title, sizeof(title));
    subtitle_of(report, subtitle, sizeof(subtitle));
    html_page_begin(title, subtitle, out);
    html_verdict(report, out);
    html_heat(report, out);
    html_curves(report, out);
    html_stages(report, out);
    html_tails(report, out);
    html_locks(report, out);
    html_queues(report, out);
    int rc = html_flame(report, out);
    html_slowest(report, out);
    html_peers(report, out);
    html_figures(report, out);
    html_facts(report, out);
    html_page_end(out);
    return rc < 0 ? rc : flame_out_check(out);
}
