/* SPDX-License-Identifier: MIT */
/* The report as one page that needs nothing else: no network, no other file, no library. */
#include "html_embedded.h"
#include "html_out.h"

#include <inttypes.h>
#include <string.h>

#include "err.h"
#include "plural.h"
#include "flame_out.h"
#include "renderers.h"
#include "units.h"

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

void html_section(const char *id, const char *title, FILE *out)
{
    fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
            id, id, id, title);
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

void html_verdict(const struct report *report, FILE *out)
{
    html_section("verdict", "Verdict", out);
    if (report->verdict_count == 0)
        fputs("<p class=\"lead\">Nothing stands out: no cause was found in this data.</p>\n", out);
    for (size_t i = 0; i < report->verdict_count; i++) {
        const struct report_verdict *verdict = &report->verdicts[i];
        fprintf(out, "<p class=\"%s\">", i == 0 ? "lead" : "further");
        flame_out_xml(verdict->text, out);
        fputs("</p>\n", out);
        if (verdict->evidence && *verdict->evidence) {
            fputs("<ul class=\"evidence\">", out);
            for (char **line = verdict->evidence; *line; line++) {
                fputs("<li>", out);
                flame_out_xml(*line, out);
                fputs("</li>", out);
            }
            fputs("</ul>\n", out);
        }
        if (verdict->knobs && *verdict->knobs) {
            fputs("<p class=\"knobs\">Options that govern it:", out);
            for (char **knob = verdict->knobs; *knob; knob++) {
                fputs(" <code>", out);
                flame_out_xml(*knob, out);
                fputs("</code>", out);
            }
            fputs("</p>\n", out);
        }
    }
    fputs("</section>\n", out);
}

static void fact(const char *name, const char *value, FILE *out)
{
    if (!*value)
        return;
    fprintf(out, "<tr><th scope=\"row\">%s</th>", name);
    html_text_cell(value, out);
    fputs("</tr>\n", out);
}

static void count_row(const char *name, uint64_t value, FILE *out)
{
    fputs("<tr><th scope=\"row\">", out);
    flame_out_xml(name, out);
    fputs("</th>", out);
    html_count_cell(value, out);
    fputs("</tr>\n", out);
}

static void count_rows(const struct report_count *counts, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i].value > 0)
            count_row(counts[i].name, counts[i].value, out);
}

void html_facts(const struct report *report, FILE *out)
{
    char text[64];
    html_section("run", "The run, and what is missing", out);
    for (size_t i = 0; i < report->note_count; i++) {
        fputs("<p>", out);
        flame_out_xml(report->notes[i], out);
        fputs("</p>\n", out);
    }
    fputs("<table><caption>The run</caption><tbody>\n", out);
    fact("daemon", report->source.daemon, out);
    fact("id", report->source.id, out);
    fact("version", report->source.version, out);
    fact("object store", report->source.store, out);
    fact("traced by", report->source.kind, out);
    snprintf(text, sizeof(text), "%.3f s", report->source.seconds);
    fact("time", text, out);
    count_row("events", report->counts.events, out);
    count_row("ops finished", report->counts.ops, out);
    fputs("</tbody></table>\n<table><caption>Lost, or not joined</caption><tbody>\n", out);
    count_row("events lost by the tracer", report->counts.lost_events, out);
    count_row("events of no known op", report->counts.unmatched_events, out);
    count_rows(report->counts.incomplete, report->counts.incomplete_count, out);
    count_rows(report->counts.others, report->counts.other_count, out);
    fputs("</tbody></table>\n</section>\n", out);
}

static void title_of(const struct report *report, FILE *out)
{
    flame_out_xml(*report->source.daemon ? report->source.daemon : "Storage daemon", out);
    if (*report->source.id) {
        fputc(' ', out);
        flame_out_xml(report->source.id, out);
    }
}

static void write_head(const struct report *report, FILE *out)
{
    char ops[32];
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    title_of(report, out);
    fprintf(out,
            " - optrail</title>\n<style>%s</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#verdict\">To the verdict</a>\n<header>\n<div><h1>",
            html_css);
    title_of(report, out);
    fprintf(out, "</h1>\n<p>%.1f s, %s op%s", report->source.seconds,
            unit_count(report->counts.ops, ops, sizeof(ops)), plural(report->counts.ops));
    if (*report->source.version) {
        fputs(", ", out);
        flame_out_xml(report->source.version, out);
    }
    if (*report->source.store) {
        fputs(", ", out);
        flame_out_xml(report->source.store, out);
    }
    fprintf(out,
            "</p></div>\n<button id=\"theme\" type=\"button\" aria-pressed=\"false\" hidden>Dark"
            "</button>\n</header>\n<nav aria-label=\"Sections\"></nav>\n<main>\n");
}

int render_html(const struct report *report, const struct render_options *options, FILE *out)
{
    (void)options;
    write_head(report, out);
    html_verdict(report, out);
    html_heat(report, out);
    html_curves(report, out);
    html_stages(report, out);
    html_locks(report, out);
    int rc = html_flame(report, out);
    html_slowest(report, out);
    html_facts(report, out);
    fprintf(out,
            "</main>\n<footer>Made by optrail " OPTRAIL_VERSION "</footer>\n<div id=\"tip\" "
            "role=\"status\" hidden></div>\n<script>%s</script>\n</body>\n</html>\n",
            html_js);
    return rc < 0 ? rc : flame_out_check(out);
}
