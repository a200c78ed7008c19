/* SPDX-License-Identifier: MIT */
/* The plots over time and over quantiles: vector graphics with their axes. */
#include <inttypes.h>
#include <math.h>

#include "flame_out.h"
#include "html_out.h"
#include "units.h"
#include "plural.h"

#define WIDTH  960
#define LEFT   76
#define RIGHT  20
#define TOP    14
#define BOTTOM 34
#define PLOT   (WIDTH - LEFT - RIGHT)

/* More op types than this would not be told apart by their lines. */
#define CURVES 4

static double log_of(uint64_t ns)
{
    return log10(ns > 0 ? (double)ns : 1);
}

static void y_label(double y, uint64_t ns, FILE *out)
{
    char number[24];
    fprintf(out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%s</text>\n",
            LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4, unit_duration(ns, number, sizeof(number)));
}

/* The rows in which there is anything, from `*first` to before `*end`; the largest cell. */
static uint64_t heat_extent(const struct report_heat *heat, size_t *first, size_t *end)
{
    uint64_t most = 0;
    *first = heat->row_count;
    *end = 0;
    for (size_t i = 0; i < heat->window_count * heat->row_count; i++) {
        size_t row = i % heat->row_count;
        if (heat->cells[i] == 0)
            continue;
        *first = row < *first ? row : *first;
        *end = row + 1 > *end ? row + 1 : *end;
        most = heat->cells[i] > most ? heat->cells[i] : most;
    }
    return most;
}

/* Eight steps, each twice the one before, the last one the most: rare ops are to be seen too. */
static double strength(uint64_t count, uint64_t most)
{
    double steps = log2((double)most / (double)count);
    return steps >= 8 ? 0.12 : 1 - floor(steps) * 0.11;
}

static void heat_cell(const struct report_heat *heat, size_t window, size_t row, double x, double y,
                      double width, double height, uint64_t most, FILE *out)
{
    uint64_t count = heat->cells[window * heat->row_count + row];
    char low[24], number[32], when[24];
    fprintf(out,
            "<rect class=\"heat\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "fill-opacity=\"%.2f\" data-tip=\"%s op%s from %s on, at %s\"/>\n",
            x, y, width, height, strength(count, most), unit_count(count, number, sizeof(number)),
            plural(count), unit_duration(heat->row_low_ns[row], low, sizeof(low)),
            unit_duration(window * heat->window_ns, when, sizeof(when)));
}

static void heat_table(const struct report_heat *heat, FILE *out)
{
    fputs("<details><summary>As a table</summary><div class=\"scroll\" tabindex=\"0\" "
          "role=\"group\" aria-label=\"Ops over time\"><table><thead><tr><th "
          "scope=\"col\">from</th><th scope=\"col\" class=\"n\">ops</th><th scope=\"col\" "
          "class=\"n\">slowest, at least</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < heat->window_count; i++) {
        uint64_t count = 0, slowest = 0;
        for (size_t row = 0; row < heat->row_count; row++) {
            uint64_t cell = heat->cells[i * heat->row_count + row];
            count += cell;
            slowest = cell > 0 ? heat->row_low_ns[row] : slowest;
        }
        fputs("<tr>", out);
        html_duration_cell(i * heat->window_ns, out);
        html_count_cell(count, out);
        html_duration_cell(slowest, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div></details>\n", out);
}

void html_heat(const struct report *report, FILE *out)
{
    const struct report_heat *heat = &report->heat;
    size_t first, end;
    char number[24];
    html_section("time", "Latency over time", out);
    uint64_t most = heat_extent(heat, &first, &end);
    if (most == 0) {
        fputs("<p class=\"note\">Not known: the ops were summed up without their times, as the "
              "kernel does it live.</p>\n</section>\n",
              out);
        return;
    }
    double height = 14, width = (double)PLOT / (double)heat->window_count;
    int plot = (int)((double)(end - first) * height);
    html_plot_begin("Heat map: each column is a span of time, each row a range of latency; the "
                    "darker, the more ops. A table follows.",
                    WIDTH, TOP + plot + BOTTOM, out);
    for (size_t row = first; row < end; row++)
        if ((row - first) % 4 == 0)
            y_label(TOP + (double)(end - row) * height, heat->row_low_ns[row], out);
    for (size_t i = 0; i < heat->window_count; i++)
        for (size_t row = first; row < end; row++)
            if (heat->cells[i * heat->row_count + row] > 0)
                heat_cell(heat, i, row, LEFT + (double)i * width,
                          TOP + (double)(end - row - 1) * height, width, height, most, out);
    for (int i = 0; i <= 4; i++)
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", LEFT + PLOT * i / 4,
                TOP + plot + 20,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                unit_duration(heat->window_ns * heat->window_count * (unsigned)i / 4, number,
                              sizeof(number)));
    html_plot_end(out);
    fprintf(out,
            "<p class=\"note\">Ops by the time they finished, in spans of %s. Each step of the "
            "shade is twice as many ops.</p>\n",
            unit_duration(heat->window_ns, number, sizeof(number)));
    heat_table(heat, out);
    fputs("</section>\n", out);
}

/* Quantiles by how many ops are slower: 0, 90 %, 99 %, ... are equally far apart. */
static double quantile_x(double quantile)
{
    double slower = 1 - quantile;
    double nines = slower > 1e-5 ? -log10(slower) : 5;
    return LEFT + nines / 5 * PLOT;
}

struct scale {
    double low, high; /* log10 of ns */
};

static double latency_y(const struct scale *scale, uint64_t ns, int height)
{
    return TOP + (scale->high - log_of(ns)) / (scale->high - scale->low) * height;
}

static void curve(const struct report_op *op, size_t number, const struct scale *scale, int height,
                  FILE *out)
{
    char text[24];
    fprintf(out, "<polyline class=\"curve k%zu\" points=\"", number);
    for (size_t i = 0; i < op->curve_count; i++)
        fprintf(out, "%.1f,%.1f ", quantile_x(op->curve[i].quantile),
                latency_y(scale, op->curve[i].ns, height));
    fputs("\"/>\n", out);
    for (size_t i = 0; i < op->curve_count; i++) {
        fprintf(out, "<circle class=\"dot\" r=\"3.5\" cx=\"%.1f\" cy=\"%.1f\" data-tip=\"",
                quantile_x(op->curve[i].quantile), latency_y(scale, op->curve[i].ns, height));
        flame_out_xml(op->type, out);
        fprintf(out, ": %g %% take at most %s\"/>\n", 100 * op->curve[i].quantile,
                unit_duration(op->curve[i].ns, text, sizeof(text)));
    }
    fprintf(out,
            "<path class=\"curve k%zu\" d=\"M%d %zuh34\"/><text class=\"name\" x=\"%d\" "
            "y=\"%zu\">",
            number, WIDTH - 210, TOP + (size_t)height - 70 + 18 * number, WIDTH - 168,
            TOP + (size_t)height - 66 + 18 * number);
    flame_out_xml(op->type, out);
    fputs("</text>\n", out);
}

static void curve_table(const struct report *report, FILE *out)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Latency by op "
          "type\"><table class=\"wide\"><caption>Latency by op type</caption><thead><tr><th "
          "scope=\"col\">type</th>",
          out);
    static const char *const heads[] = {"ops", "mean", "p50", "p90", "p99", "p99.9", "max"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        fprintf(out, "<th scope=\"col\" class=\"n\">%s</th>", heads[i]);
    fputs("</tr></thead><tbody>\n", out);
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_latency *latency = &report->ops[i].latency;
        fputs("<tr><th scope=\"row\">", out);
        flame_out_xml(report->ops[i].type, out);
        fputs("</th>", out);
        html_count_cell(report->ops[i].count, out);
        html_duration_cell((uint64_t)llround(latency->mean), out);
        html_duration_cell(latency->p50, out);
        html_duration_cell(latency->p90, out);
        html_duration_cell(latency->p99, out);
        html_duration_cell(latency->p999, out);
        html_duration_cell(latency->max, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

void html_curves(const struct report *report, FILE *out)
{
    static const char *const marks[] = {"0", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"};
    struct scale scale = {20, 0};
    const int height = 240;
    size_t curves = report->op_count < CURVES ? report->op_count : CURVES;
    for (size_t i = 0; i < curves; i++)
        for (size_t j = 0; j < report->ops[i].curve_count; j++) {
            scale.low = fmin(scale.low, floor(log_of(report->ops[i].curve[j].ns)));
            scale.high = fmax(scale.high, ceil(log_of(report->ops[i].curve[j].ns)));
        }
    if (curves == 0 || scale.low > scale.high)
        return;
    if (scale.high < scale.low + 1)
        scale.high = scale.low + 1;
    html_section("percentiles", "Percentiles", out);
    html_plot_begin("Latency by quantile, a line for each op type; a table follows.", WIDTH,
                    TOP + height + BOTTOM, out);
    for (int decade = (int)scale.low; decade <= (int)scale.high; decade++)
        y_label(latency_y(&scale, (uint64_t)llround(pow(10, decade)), height),
                (uint64_t)llround(pow(10, decade)), out);
    for (int i = 0; i <= 5; i++)
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %dV%d\"/><text x=\"%d\" y=\"%d\" "
                "text-anchor=\"%s\">%s</text>\n",
                LEFT + PLOT * i / 5, TOP, TOP + height, LEFT + PLOT * i / 5, TOP + height + 20,
                i == 5 ? "end" : "middle", marks[i]);
    for (size_t i = 0; i < curves; i++)
        curve(&report->ops[i], i, &scale, height, out);
    html_plot_end(out);
    fputs("<p class=\"note\">So many of the ops take at most so long.</p>\n", out);
    curve_table(report, out);
    fputs("</section>\n", out);
}
