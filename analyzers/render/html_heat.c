/* SPDX-License-Identifier: MIT */
/* Latency over time, as a heat map. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "html_out.h"
#include "html_plots.h"
#include "plural.h"
#include "units.h"

#define LEFT   76
#define RIGHT  20
#define TOP    14
#define BOTTOM 34

bool html_heat_widen(struct html_heat_scale *scale, const struct report_heat *heat)
{
    bool any = false;
    size_t rows = heat->row_count;
    if (scale->low_ns && (scale->row_count != rows || memcmp(scale->low_ns, heat->row_low_ns,
                                                             rows * sizeof(*scale->low_ns)) != 0))
        return false;
    for (size_t i = 0; i < heat->window_count * rows; i++) {
        size_t row = i % rows;
        if (heat->cells[i] == 0)
            continue;
        if (!any && !scale->low_ns)
            scale->first = rows;
        any = true;
        scale->low_ns = heat->row_low_ns;
        scale->row_count = rows;
        scale->first = row < scale->first ? row : scale->first;
        scale->end = row + 1 > scale->end ? row + 1 : scale->end;
        scale->most = fmax(scale->most, (double)heat->cells[i] / (double)heat->window_ns);
    }
    uint64_t span = heat->window_ns * heat->window_count;
    if (any && span > scale->span_ns)
        scale->span_ns = span;
    return any;
}

/* Eight steps, each twice the one before, the last one the most: rare ops are to be seen too. */
static double strength(double density, double most)
{
    double steps = log2(most / density);
    return steps >= 8 ? 0.12 : 1 - floor(steps) * 0.11;
}

static void cell(const struct report_heat *heat, const struct html_heat_scale *scale, size_t window,
                 size_t row, double x, double y, double width, double height, FILE *out)
{
    uint64_t count = heat->cells[window * heat->row_count + row];
    char low[24], number[32], when[24];
    fprintf(out,
            "<rect class=\"heat\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" "
            "fill-opacity=\"%.2f\" data-tip=\"%s op%s from %s on, at %s\"/>\n",
            x, y, width, height, strength((double)count / (double)heat->window_ns, scale->most),
            unit_count(count, number, sizeof(number)), plural(count),
            unit_duration(heat->row_low_ns[row], low, sizeof(low)),
            unit_duration(window * heat->window_ns, when, sizeof(when)));
}

static void table(const struct report_heat *heat, const char *label, FILE *out)
{
    static const char *const heads[] = {"from", "#ops", "#slowest, at least", NULL};
    fputs("<details><summary>As a table</summary>", out);
    html_table_begin(label, heads, out);
    for (size_t i = 0; i < heat->window_count; i++) {
        uint64_t count = 0, slowest = 0;
        for (size_t row = 0; row < heat->row_count; row++) {
            uint64_t ops = heat->cells[i * heat->row_count + row];
            count += ops;
            slowest = ops > 0 ? heat->row_low_ns[row] : slowest;
        }
        fputs("<tr>", out);
        html_duration_cell(i * heat->window_ns, out);
        html_count_cell(count, out);
        html_duration_cell(slowest, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    fputs("</details>\n", out);
}

static void axes(const struct report_heat *heat, const struct html_heat_scale *scale, int right,
                 int height, FILE *out)
{
    int bottom = TOP + height * (int)(scale->end - scale->first);
    char number[24];
    for (size_t row = scale->first; row < scale->end; row++)
        if ((row - scale->first) % 4 == 0) {
            int y = TOP + height * (int)(scale->end - row);
            fprintf(out,
                    "<path class=\"grid\" d=\"M%d %dH%d\"/><text x=\"%d\" y=\"%d\" "
                    "text-anchor=\"end\">%s</text>\n",
                    LEFT, y, right, LEFT - 8, y + 4,
                    unit_duration(heat->row_low_ns[row], number, sizeof(number)));
        }
    for (int i = 0; i <= 4; i++)
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                LEFT + (right - LEFT) * i / 4, bottom + 20,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                unit_duration((uint64_t)((double)scale->span_ns * i / 4), number, sizeof(number)));
}

void html_heat_picture(const struct report_heat *heat, const struct html_heat_scale *scale,
                       const char *label, int width, FILE *out)
{
    int right = width - RIGHT;
    int height = scale->end - scale->first < 14 ? 20 : 14;
    double span = (double)(right - LEFT) * (double)heat->window_ns / (double)scale->span_ns;
    html_plot_begin(label, width, TOP + height * (int)(scale->end - scale->first) + BOTTOM, out);
    axes(heat, scale, right, height, out);
    for (size_t i = 0; i < heat->window_count; i++)
        for (size_t row = scale->first; row < scale->end; row++)
            if (heat->cells[i * heat->row_count + row] > 0)
                cell(heat, scale, i, row, LEFT + (double)i * span,
                     TOP + height * (int)(scale->end - row - 1), span, height, out);
    html_plot_end(out);
    table(heat, label, out);
}
