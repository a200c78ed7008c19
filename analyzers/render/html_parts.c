/* SPDX-License-Identifier: MIT */
/* Stages, and the slowest ops with theirs. */
#include <inttypes.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_parts.h"
#include "units.h"

/* The kinds that have a colour of their own; others are drawn as what is not known. */
static const char *const kinds[] = {"wait", "lock", "throttle", "io", "net", "work"};

static const char *kind_class(const char *kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            return kinds[i];
    return "none";
}

/* `tail` is negative where it is not known. */
static void stage_row(const char *name, const char *kind, double share, double tail,
                      const struct report_latency *latency, FILE *out)
{
    fputs("<tr>", out);
    html_name_cell(name, out);
    fprintf(out, "<td><span class=\"kind %s\">", kind_class(kind));
    flame_out_xml(kind, out);
    fputs("</span></td>", out);
    html_share_cell(share, out);
    if (tail >= 0)
        html_share_cell(tail, out);
    else
        fputs("<td class=\"n\">-</td>", out);
    html_meter_cell(share, tail >= 0 ? tail : 0, out);
    if (latency) {
        html_duration_cell(latency->p50, out);
        html_duration_cell(latency->p99, out);
    } else {
        fputs("<td></td><td></td>", out);
    }
    fputs("</tr>\n", out);
}

void html_stages(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"stage", "kind", "#share", "#in the tail",
                                        "",      "#p50", "#p99",   NULL};
    bool imported = report_is_imported(report); /* not told apart by how slow they are */
    char label[96];
    html_section("stages", "Stages", out);
    if (!imported)
        fputs("<p class=\"note\"><span class=\"key\">of all time</span> &nbsp; <span class=\"key "
              "k1\">of the slowest 1 %</span></p>\n",
              out);
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        fputs("<h3>", out);
        flame_out_xml(op->type, out);
        fputs("</h3>\n", out);
        snprintf(label, sizeof(label), "Stages of %.64s", op->type);
        html_table_begin(label, heads, out);
        for (size_t j = 0; j < op->stage_count; j++)
            stage_row(op->stages[j].name, op->stages[j].kind, op->stages[j].share,
                      imported ? -1 : op->stages[j].tail_share, &op->stages[j].latency, out);
        stage_row("unattributed", "", op->unattributed_share,
                  imported ? -1 : op->unattributed_tail_share, NULL, out);
        html_table_end(out);
    }
    fputs("</section>\n", out);
}

/* The kind of a stage, by the tables of the stages; "" where not known. */
static const char *kind_of(const struct report *report, const char *type, const char *stage)
{
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        for (size_t j = 0; strcmp(op->type, type) == 0 && j < op->stage_count; j++)
            if (strcmp(op->stages[j].name, stage) == 0)
                return op->stages[j].kind;
    }
    return "";
}

struct bar {
    double scale; /* units of the picture a ns */
    const struct report *report;
    const char *type;
};

static void draw(const struct bar *bar, const char *stage, uint64_t begin_ns, uint64_t ns,
                 FILE *out)
{
    char number[24];
    double at = 10 + (double)begin_ns * bar->scale, width = (double)ns * bar->scale;
    fprintf(out,
            "<rect class=\"bar %s\" x=\"%.2f\" y=\"8\" width=\"%.2f\" height=\"26\" data-tip=\"",
            kind_class(kind_of(bar->report, bar->type, stage)), at, width);
    flame_out_xml(stage, out);
    fprintf(out, ": %s\"/>\n", unit_duration(ns, number, sizeof(number)));
    if (width > 8.0 * (double)strlen(stage)) {
        fprintf(out, "<text class=\"in\" x=\"%.1f\" y=\"25\">", at + 6);
        flame_out_xml(stage, out);
        fputs("</text>\n", out);
    }
}

static void waterfall(const struct report *report, const struct report_exemplar *op,
                      uint64_t longest, FILE *out)
{
    struct bar bar = {(double)(HTML_WIDE - 20) / (double)(longest > 0 ? longest : 1), report,
                      op->type};
    uint64_t at = 0;
    html_plot_begin("The op's stages along its time; a table follows.", HTML_WIDE, 42, out);
    for (size_t i = 0; i < op->span_count; i++)
        draw(&bar, op->spans[i].stage, op->spans[i].begin_ns, op->spans[i].ns, out);
    /* where it is only known how long each took: in the order of the path */
    for (size_t i = 0; op->span_count == 0 && i < op->stage_count; i++) {
        draw(&bar, op->stages[i].name, at, op->stages[i].ns, out);
        at += op->stages[i].ns;
    }
    if (op->span_count == 0)
        draw(&bar, "unattributed", at, op->unattributed_ns, out);
    html_plot_end(out);
}

static void stages_of(const struct report_exemplar *op, FILE *out)
{
    fputs("<details><summary>As a table</summary><table><tbody>\n", out);
    for (size_t i = 0; i < op->stage_count; i++) {
        fputs("<tr>", out);
        html_name_cell(op->stages[i].name, out);
        html_duration_cell(op->stages[i].ns, out);
        fputs("</tr>\n", out);
    }
    fputs("<tr>", out);
    html_name_cell("unattributed", out);
    html_duration_cell(op->unattributed_ns, out);
    fputs("</tr>\n</tbody></table></details>\n", out);
}

void html_slowest(const struct report *report, FILE *out)
{
    char number[24];
    if (report->exemplar_count == 0)
        return;
    html_section("slowest", "Slowest ops", out);
    fputs("<p class=\"note\">In which stage each was when, all on one scale of time:", out);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        fprintf(out, " <span class=\"kind %s\">%s</span>", kinds[i], kinds[i]);
    fputs(" <span class=\"kind none\">no stage</span></p>\n", out);
    for (size_t i = 0; i < report->exemplar_count; i++) {
        const struct report_exemplar *op = &report->exemplars[i];
        fprintf(out, "<h3>%s, ", unit_duration(op->latency_ns, number, sizeof(number)));
        flame_out_xml(op->type, out);
        if (op->client)
            fprintf(out, ", client %" PRIu64 " tid %" PRIu64, op->client, op->tid);
        fputs("</h3>\n", out);
        waterfall(report, op, report->exemplars[0].latency_ns, out);
        stages_of(op, out);
    }
    fputs("</section>\n", out);
}
