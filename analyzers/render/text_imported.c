/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "text_out.h"
#include "units.h"

/* "1.23 s" of seconds; other numbers with six digits. */
static void figure_text(const struct report_figure *figure, char *text, size_t size)
{
    if (strcmp(figure->unit, "s") == 0 && figure->value >= 0 && figure->value < 1e9)
        unit_duration((uint64_t)(figure->value * 1e9 + 0.5), text, size);
    else
        snprintf(text, size, "%.6g%s%s", figure->value, *figure->unit ? " " : "", figure->unit);
    if (strcmp(text, "1 ops") == 0)
        snprintf(text, size, "1 op");
}

static void figures(const struct report *report, FILE *out)
{
    const char *source = "";

    for (size_t i = 0; i < report->figure_count; i++) {
        const struct report_figure *figure = &report->figures[i];
        char text[64], title[TEXT_NAME];
        if (i == 0 || strcmp(source, figure->source) != 0) {
            fputc('\n', out);
            size_t columns = escape_for_terminal(figure->source, title, sizeof(title));
            text_name(out, figure->source, columns < 80 ? columns : 80);
            fputc('\n', out);
        }
        source = figure->source;
        figure_text(figure, text, sizeof(text));
        fputs("  ", out);
        text_name(out, figure->name, 40);
        text_cell(out, text, text_columns(text), 20, 1);
        fputc('\n', out);
    }
}

void text_imported(const struct report *report, int width, FILE *out)
{
    fputs("imported evidence\n", out);
    text_verdicts(report, width, out);
    for (size_t i = 0; i < report->op_count; i++)
        text_op(out, report, &report->ops[i], width);
    text_exemplars(out, report, width);
    figures(report, out);
    text_losses(report, width, out);
}
