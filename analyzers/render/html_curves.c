/* SPDX-License-Identifier: MIT */
/* Latency by quantile, and how it is distributed. */
#include <inttypes.h>
#include <math.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_plots.h"
#include "plural.h"
#include "units.h"

#define LEFT   76
#define RIGHT  20
#define TOP    14
#define BOTTOM 34
#define HEIGHT 240
#define NINES  5 /* of the axis: 99.999 % */

struct scale {
    double low, high; /* log10 of ns */
    int right;
};

static double log_of(uint64_t ns)
{
    return log10(ns > 0 ? (double)ns : 1);
}

/* Quantiles by how many ops are slower: 0, 90 %, 99 %, ... are equally far apart. */
static double quantile_x(const struct scale *scale, double quantile)
{
    double slower = 1 - quantile;
    double nines = slower > 1e-5 ? -log10(slower) : NINES;
    return LEFT + nines / NINES * (scale->right - LEFT);
}

static double latency_y(const struct scale *scale, double log)
{
    return TOP + (scale->high - log) / (scale->high - scale->low) * HEIGHT;
}

static void label_y(const struct scale *scale, double log, FILE *out)
{
    char number[24];
    double y = latency_y(scale, log);
    fprintf(out,
            "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%s</text>\n",
            LEFT, y, scale->right, LEFT - 8, y + 4,
            unit_duration((uint64_t)llround(pow(10, log)), number, sizeof(number)));
}

static void draw_axes(const struct scale *scale, FILE *out)
{
    static const char *const marks[] = {"0", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"};
    /* of one decade, the marks between would be too far apart */
    static const double steps[] = {0, 0.30103, 0.69897};
    size_t count = scale->high - scale->low > 2.5 ? 1 : 3;
    for (int decade = (int)scale->low; decade < (int)scale->high; decade++)
        for (size_t i = 0; i < count; i++)
            label_y(scale, decade + steps[i], out);
    label_y(scale, scale->high, out);
    for (int i = 0; i <= NINES; i++) {
        int x = LEFT + (scale->right - LEFT) * i / NINES;
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %dV%d\"/><text x=\"%d\" y=\"%d\" "
                "text-anchor=\"%s\">%s</text>\n",
                x, TOP, TOP + HEIGHT, x, TOP + HEIGHT + 20, i == NINES ? "end" : "middle",
                marks[i]);
    }
}

static void draw_curve(const struct html_curve *curve, const struct scale *scale, FILE *out)
{
    char text[24];
    fprintf(out, "<polyline class=\"curve k%u\" points=\"", curve->look);
    for (size_t i = 0; i < curve->count; i++)
        fprintf(out, "%.1f,%.1f ", quantile_x(scale, curve->points[i].quantile),
                latency_y(scale, log_of(curve->points[i].ns)));
    fputs("\"/>\n", out);
    for (size_t i = 0; i < curve->count; i++) {
        fprintf(out, "<circle class=\"dot k%u\" r=\"3.5\" cx=\"%.1f\" cy=\"%.1f\" data-tip=\"",
                curve->look, quantile_x(scale, curve->points[i].quantile),
                latency_y(scale, log_of(curve->points[i].ns)));
        flame_out_xml(curve->name, out);
        fprintf(out, ": %g %% take at most %s\"/>\n", 100 * curve->points[i].quantile,
                unit_duration(curve->points[i].ns, text, sizeof(text)));
    }
}

/* Where curves rise to the right, the upper left is free. */
static void draw_legend(const struct html_curve *curves, size_t count, FILE *out)
{
    int y = TOP + 18;
    for (size_t i = 0; i < count; i++) {
        if (curves[i].unnamed)
            continue;
        fprintf(out,
                "<path class=\"curve k%u\" d=\"M%d %dh34\"/><text class=\"name\" x=\"%d\" "
                "y=\"%d\">",
                curves[i].look, LEFT + 12, y, LEFT + 54, y + 4);
        flame_out_xml(curves[i].name, out);
        fputs("</text>\n", out);
        y += 18;
    }
}

void html_curves_picture(const struct html_curve *curves, size_t count, const char *label,
                         int width, FILE *out)
{
    struct scale scale = {20, 0, width - RIGHT};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < curves[i].count; j++) {
            scale.low = fmin(scale.low, floor(log_of(curves[i].points[j].ns)));
            scale.high = fmax(scale.high, ceil(log_of(curves[i].points[j].ns)));
        }
    if (scale.low > scale.high)
        return;
    if (scale.high < scale.low + 1)
        scale.high = scale.low + 1;
    html_plot_begin(label, width, TOP + HEIGHT + BOTTOM, out);
    draw_axes(&scale, out);
    for (size_t i = 0; i < count; i++)
        draw_curve(&curves[i], &scale, out);
    draw_legend(curves, count, out);
    html_plot_end(out);
}

void html_histogram_picture(const struct report_op *op, uint64_t split_ns, int width, FILE *out)
{
    enum { BAR_HEIGHT = 90 };
    double most = 0, low = 64, high = 0, split = split_ns > 0 ? log2((double)split_ns) : 0;
    char number[32], below[24];
    for (size_t i = 0; i < op->histogram_count; i++) {
        double octave = log2((double)op->histogram[i].below_ns);
        low = fmin(low, octave - 1);
        high = fmax(high, octave);
        most = fmax(most, (double)op->histogram[i].count);
    }
    if (most <= 0 || low >= high)
        return;
    double step = (width - LEFT - RIGHT) / (high - low);
    html_plot_begin("How many ops took how long, by powers of two.", width,
                    TOP + BAR_HEIGHT + BOTTOM, out);
    for (size_t i = 0; i < op->histogram_count; i++) {
        double octave = log2((double)op->histogram[i].below_ns);
        double height = BAR_HEIGHT * (double)op->histogram[i].count / most;
        double x = LEFT + (octave - 1 - low) * step;
        fprintf(out,
                "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "data-tip=\"%s op%s below %s\"/>",
                x, TOP + BAR_HEIGHT - height, step, height,
                unit_count(op->histogram[i].count, number, sizeof(number)),
                plural(op->histogram[i].count),
                unit_duration(op->histogram[i].below_ns, below, sizeof(below)));
        if (step > 50 || i % 2 == 0)
            fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                    fmin(x + step, width - 6), TOP + BAR_HEIGHT + 20,
                    octave < high ? "middle" : "end", below);
    }
    if (split_ns > 0)
        fprintf(out, "<path class=\"split\" d=\"M%.1f %dV%d\"/>\n", LEFT + (split - low) * step,
                TOP - 8, TOP + BAR_HEIGHT);
    html_plot_end(out);
}
