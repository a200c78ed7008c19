/* SPDX-License-Identifier: MIT */
#include "html_out.h"

#include <math.h>
#include <string.h>

#include "flame_out.h"
#include "html_embedded.h"
#include "units.h"

void html_page_begin(const char *title, const char *subtitle, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    flame_out_xml(title, out);
    fprintf(out,
            " - optrail</title>\n<style>%s</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#verdict\">To the verdict</a>\n<header>\n<div><h1>",
            html_css);
    flame_out_xml(title, out);
    fputs("</h1>\n<p>", out);
    flame_out_xml(subtitle, out);
    fputs("</p></div>\n<button id=\"theme\" type=\"button\" aria-pressed=\"false\" hidden>Dark"
          "</button>\n</header>\n<nav aria-label=\"Sections\"></nav>\n<main>\n",
          out);
}

void html_page_end(FILE *out)
{
    fprintf(out,
            "</main>\n<footer>Made by optrail " OPTRAIL_VERSION "</footer>\n<div id=\"tip\" "
            "role=\"status\" hidden></div>\n<script>%s</script>\n</body>\n</html>\n",
            html_js);
}

void html_title(const struct report *report, char *title, size_t size)
{
    const char *daemon = *report->source.daemon ? report->source.daemon : "Storage daemon";
    if (report->source_count > 1)
        snprintf(title, size, "%zu daemons", report->source_count);
    else
        snprintf(title, size, "%s%s%s", daemon, *report->source.id ? " " : "", report->source.id);
}

void html_section(const char *id, const char *title, FILE *out)
{
    fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
            id, id, id, title);
}

void html_paragraph(const char *class_name, const char *text, FILE *out)
{
    fprintf(out, "<p%s%s%s>", *class_name ? " class=\"" : "", class_name, *class_name ? "\"" : "");
    flame_out_xml(text, out);
    fputs("</p>\n", out);
}

void html_table_begin(const char *label, const char *const *heads, FILE *out)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"", out);
    flame_out_xml(label, out);
    fputs("\"><table class=\"wide\"><thead><tr>", out);
    for (; *heads; heads++) {
        bool number = **heads == '#';
        if (**heads)
            fprintf(out, "<th scope=\"col\"%s>%s</th>", number ? " class=\"n\"" : "",
                    *heads + number);
        else
            fputs("<td></td>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void html_table_end(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

void html_name_cell(const char *name, FILE *out)
{
    fputs("<th scope=\"row\">", out);
    flame_out_xml(name, out);
    fputs("</th>", out);
}

void html_text_cell(const char *text, FILE *out)
{
    fputs("<td>", out);
    flame_out_xml(text, out);
    fputs("</td>", out);
}

void html_duration_cell(uint64_t ns, FILE *out)
{
    char number[24];
    fprintf(out, "<td class=\"n\">%s</td>", unit_duration(ns, number, sizeof(number)));
}

void html_share_cell(double share, FILE *out)
{
    fprintf(out, "<td class=\"n\">%.1f %%</td>", 100 * share);
}

void html_count_cell(uint64_t count, FILE *out)
{
    char number[32];
    fprintf(out, "<td class=\"n\">%s</td>", unit_count(count, number, sizeof(number)));
}

static double percent_of_cell(double part)
{
    return fmin(100, fmax(0, 100 * part));
}

void html_meter_cell(double all, double tail, FILE *out)
{
    fprintf(out,
            "<td class=\"meter\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i><i "
            "style=\"width:%.1f%%\"></i></td>",
            percent_of_cell(all), percent_of_cell(tail));
}

void html_plot_begin(const char *text, int width, int height, FILE *out)
{
    fputs("<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"", out);
    flame_out_xml(text, out);
    fprintf(out, "\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", width, height);
    flame_out_xml(text, out);
    fputs("\">\n", out);
}

void html_plot_end(FILE *out)
{
    fputs("</svg></div>\n", out);
}
