/* SPDX-License-Identifier: MIT */
/* Two sides of runs as one page: what changed, and both beside each other. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diff_render.h"
#include "flame_out.h"
#include "html_diff_rows.h"
#include "html_out.h"
#include "html_parts.h"
#include "html_plots.h"
#include "units.h"

/* Runs of a side that are shown one by one, and op types that have a plot. */
#define RUNS  8
#define TYPES 4

static const char *const side_words[] = {"before", "after"};

static void names_of(const struct diff_runs *side, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < side->count && i < 3 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? ", " : "",
                                 side->runs[i].name);
    if (side->count > 3 && used < size)
        snprintf(text + used, size - used, " and %zu more", side->count - 3);
}

static void page_begin(const struct diff_runs sides[2], FILE *out)
{
    char daemon[256], title[300], before[256] = "", after[256] = "", text[600];
    html_title(sides[1].runs[0].report, daemon, sizeof(daemon));
    snprintf(title, sizeof(title), "%s, before and after", daemon);
    names_of(&sides[0], before, sizeof(before));
    names_of(&sides[1], after, sizeof(after));
    snprintf(text, sizeof(text), "%s against %s", before, after);
    html_page_begin(title, text, out);
}

static void verdict(const struct report_diff *diff, FILE *out)
{
    char text[600];
    html_section("verdict", "Verdict", out);
    if (diff->type_count == 0)
        html_paragraph("lead", "No side has ops: there is nothing to compare.", out);
    /* what changed leads, whatever takes more time */
    bool first = true;
    for (int changed = 1; changed >= 0; changed--)
        for (size_t i = 0; i < diff->type_count; i++)
            if (diff->types[i].changed == (bool)changed) {
                html_paragraph(first ? "lead" : "further", diff->types[i].text, out);
                first = false;
            }
    for (size_t i = 0; i < diff->warning_count; i++) {
        snprintf(text, sizeof(text), "Not quite comparable: %.500s.", diff->warnings[i]);
        html_paragraph("warning", text, out);
    }
    for (size_t i = 0; i < diff->condition_count; i++) {
        const struct diff_condition *condition = &diff->conditions[i];
        snprintf(text, sizeof(text), "%s  %.160s: %.400s", condition->holds ? "FAIL" : "ok",
                 condition->text, condition->why);
        html_paragraph(condition->holds ? "warning" : "", text, out);
    }
    fputs("</section>\n", out);
}

static void changes(const struct report_diff *diff, bool all, FILE *out)
{
    char text[400];
    if (diff->type_count == 0)
        return;
    html_section("changes", "What changed", out);
    fputs("<p class=\"note\"><span class=\"key k1\">slower, beyond chance</span> &nbsp; <span "
          "class=\"key\">faster</span> &nbsp; <span class=\"key k2\">no more than chance</span>. "
          "The bar is the 95 % interval of the change of the mean; all of a table are on one "
          "scale, and those of the stages add up to that of the op.</p>\n",
          out);
    for (size_t i = 0; i < diff->type_count; i++)
        html_diff_type(&diff->types[i], all, out);
    html_paragraph("note", diff_chance_text(diff, text, sizeof(text)), out);
    fputs("</section>\n", out);
}

static const struct report_op *op_of(const struct report *report, const char *type)
{
    for (size_t i = 0; i < report->op_count; i++)
        if (strcmp(report->ops[i].type, type) == 0)
            return &report->ops[i];
    return NULL;
}

/* Both sides in one plot: what lies between the lines is the change. */
static void curves(const struct report_diff *diff, const struct diff_runs sides[2], FILE *out)
{
    char label[160];
    if (diff->type_count == 0)
        return;
    html_section("percentiles", "Percentiles", out);
    fputs("<div class=\"pair\">\n", out);
    for (size_t i = 0; i < diff->type_count && i < TYPES; i++) {
        struct html_curve lines[2 * RUNS] = {0};
        size_t count = 0;
        for (unsigned side = 0; side < 2; side++) {
            bool named = false;
            for (size_t j = 0; j < sides[side].count && j < RUNS; j++) {
                const struct report_op *op = op_of(sides[side].runs[j].report, diff->types[i].type);
                if (!op || op->curve_count == 0)
                    continue;
                /* before is dashed, after is not */
                lines[count++] = (struct html_curve){side_words[side], op->curve, op->curve_count,
                                                     side ? 0 : 1, named};
                named = true;
            }
        }
        snprintf(label, sizeof(label), "Latency of %.64s by quantile, before and after.",
                 diff->types[i].type);
        fputs("<div><h3>", out);
        flame_out_xml(diff->types[i].type, out);
        fputs("</h3>\n", out);
        html_curves_picture(lines, count, label, diff->type_count > 1 ? HTML_HALF : HTML_WIDE, out);
        html_diff_percentiles(&diff->types[i], out);
        fputs("</div>\n", out);
    }
    fputs("</div>\n", out);
    if (diff->type_count > TYPES) {
        snprintf(label, sizeof(label), "And %zu more types, which took less time.",
                 diff->type_count - TYPES);
        html_paragraph("note", label, out);
    }
    fputs("</section>\n", out);
}

static void heat_of(const struct diff_run *run, unsigned side, const struct html_heat_scale *common,
                    FILE *out)
{
    const struct report_heat *heat = &run->report->heat;
    struct html_heat_scale scale = *common, own = {0};
    char text[160];
    fprintf(out, "<div><h3>%s: ", side ? "After" : "Before");
    flame_out_xml(run->name, out);
    fputs("</h3>\n", out);
    snprintf(text, sizeof(text),
             "Heat map of the run %s: columns are spans of time, rows ranges of latency; the "
             "darker, the more ops.",
             side_words[side]);
    if (!html_heat_widen(&scale, heat)) /* of another version, with other rows */
        scale = html_heat_widen(&own, heat) ? own : (struct html_heat_scale){0};
    if (scale.span_ns > 0)
        html_heat_picture(heat, &scale, text, HTML_HALF, out);
    else
        html_paragraph("note", "Not known: its ops came without their times.", out);
    fputs("</div>\n", out);
}

static void heats(const struct diff_runs sides[2], FILE *out)
{
    struct html_heat_scale scale = {0};
    html_heat_widen(&scale, &sides[0].runs[0].report->heat);
    html_heat_widen(&scale, &sides[1].runs[0].report->heat);
    html_section("time", "Latency over time", out);
    fputs("<div class=\"pair\">\n", out);
    for (unsigned side = 0; side < 2; side++)
        heat_of(&sides[side].runs[0], side, &scale, out);
    fputs("</div>\n", out);
    html_paragraph("note",
                   sides[0].count + sides[1].count > 2
                       ? "The first run of each side, on the same scales; the shade is of ops a "
                         "second, each step twice as many."
                       : "Both on the same scales; the shade is of ops a second, each step twice "
                         "as many.",
                   out);
    fputs("</section>\n", out);
}

/* What is a side's own, whatever changed. */
static void causes(const struct diff_runs sides[2], FILE *out)
{
    html_section("causes", "What each side waits for", out);
    fputs("<div class=\"pair\">\n", out);
    for (unsigned side = 0; side < 2; side++) {
        const struct report *report = sides[side].runs[0].report;
        fprintf(out, "<div><h3>%s: ", side ? "After" : "Before");
        flame_out_xml(sides[side].runs[0].name, out);
        fputs("</h3>\n", out);
        if (report->verdict_count == 0)
            html_paragraph("", "Nothing stands out: no cause was found in this data.", out);
        for (size_t i = 0; i < report->verdict_count; i++) {
            html_paragraph("", report->verdicts[i].text, out);
            html_verdict_details(&report->verdicts[i], out);
        }
        fputs("</div>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static int flame(const struct diff_runs sides[2], FILE *out)
{
    struct flame_tree *tree = NULL;
    for (unsigned side = 0; side < 2; side++) {
        uint64_t ops = 0;
        for (size_t i = 0; i < sides[side].count; i++)
            ops += sides[side].runs[i].report->counts.ops;
        if (ops == 0)
            return 0;
    }
    html_section("flame", "Where the time went, as a flame graph", out);
    int rc = flame_tree_new(FLAME_NS, 2, &tree);
    if (rc == 0)
        rc = flame_tree_set(&tree->title, "Stages, before and after: red took a larger part");
    if (rc == 0)
        rc = flame_tree_set(&tree->counted, "passes");
    for (unsigned side = 0; rc == 0 && side < 2; side++) {
        rc = flame_tree_set(&tree->side_names[side], side_words[side]);
        for (size_t i = 0; rc == 0 && i < sides[side].count; i++)
            rc = html_flame_stages(sides[side].runs[i].report, side, tree);
    }
    if (rc == 0)
        rc = html_flame_picture(tree,
                                "Flame graph of the stages before and after: its figures are those "
                                "of the table of what changed",
                                out);
    fputs("</section>\n", out);
    flame_tree_free(tree);
    return rc;
}

int render_diff_html(const struct report_diff *diff, const struct diff_runs sides[2], bool all,
                     FILE *out)
{
    page_begin(sides, out);
    verdict(diff, out);
    changes(diff, all, out);
    curves(diff, sides, out);
    heats(sides, out);
    causes(sides, out);
    int rc = flame(sides, out);
    html_diff_runs(sides, RUNS, out);
    html_page_end(out);
    return rc < 0 ? rc : flame_out_check(out);
}
