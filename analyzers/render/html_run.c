/* SPDX-License-Identifier: MIT */
/* What the report is of, what was lost or could not be joined, and what others' tools said. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_parts.h"
#include "text_out.h"
#include "units.h"

/* Clients that are listed one by one. */
#define SHOWN_CLIENTS 10

static void fact(const char *name, const char *value, FILE *out)
{
    if (!*value)
        return;
    fputs("<tr>", out);
    html_name_cell(name, out);
    html_text_cell(value, out);
    fputs("</tr>\n", out);
}

static void count_row(const char *name, uint64_t value, FILE *out)
{
    fputs("<tr>", out);
    html_name_cell(name, out);
    html_count_cell(value, out);
    fputs("</tr>\n", out);
}

/* By what they mean; what is no loss has no words. */
static void count_rows(const struct report_count *counts, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *meaning = text_meaning(&counts[i]);
        if (counts[i].value > 0)
            count_row(meaning ? meaning : counts[i].name, counts[i].value, out);
    }
}

static void table(const char *caption, FILE *out)
{
    fprintf(out, "<table><caption>%s</caption><tbody>\n", caption);
}

static void the_run(const struct report *report, FILE *out)
{
    char text[64];
    table("The run", out);
    fact("daemon", report->source.daemon, out);
    fact("id", report->source.id, out);
    fact("version", report->source.version, out);
    fact("object store", report->source.store, out);
    fact("traced by", report->source.kind, out);
    snprintf(text, sizeof(text), "%d", report->source.pid);
    fact("process", report->source.pid ? text : "", out);
    snprintf(text, sizeof(text), "%.3f s", report->source.seconds);
    fact("time", text, out);
    if (report->source.traced_seconds > 0 &&
        report->source.traced_seconds < report->source.seconds) {
        snprintf(text, sizeof(text), "%.3f s", report->source.traced_seconds);
        fact("of it traced", text, out);
    }
    if (report->load.seconds > 0) {
        fact("ops a second", unit_rate(report->load.rate, text, sizeof(text)), out);
        snprintf(text, sizeof(text), "%.1f", report->load.in_flight);
        fact("ops under way, on average", text, out);
    }
    count_row("events", report->counts.events, out);
    count_row("ops finished", report->counts.ops, out);
    fputs("</tbody></table>\n", out);
}

static void cpu(const struct report_cpu *row, FILE *out)
{
    char text[64];
    if (!row->known || !(row->seconds > 0))
        return;
    table("CPUs, while it was watched", out);
    count_row("CPUs on which it may run", row->cpus, out);
    snprintf(text, sizeof(text), "%.0f %% of the time, whoever ran", 100 * row->busy);
    fact("they were busy", text, out);
    count_row("its threads", row->threads, out);
    snprintf(text, sizeof(text), "%.2f s a second", (double)row->run_ns / 1e9 / row->seconds);
    fact("they ran", text, out);
    snprintf(text, sizeof(text), "%.2f s a second", (double)row->wait_ns / 1e9 / row->seconds);
    fact("they waited for a CPU", text, out);
    if (row->ended > 0)
        count_row("threads that ended meanwhile, not in it", row->ended, out);
    fputs("</tbody></table>\n", out);
}

static void not_in_tables(const struct report *report, FILE *out)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->counts.incomplete_count; i++)
        sum += report->counts.incomplete[i].value;
    if (sum == 0) {
        html_paragraph("note", "Every op that was seen to begin is in the tables.", out);
        return;
    }
    table("Ops that are not in the tables", out);
    count_rows(report->counts.incomplete, report->counts.incomplete_count, out);
    fputs("</tbody></table>\n", out);
}

static void sources(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"daemon",       "version", "#process", "#ops",
                                        "most are",     "#p50",    "#p99",     "#not joined",
                                        "#events lost", NULL};
    char name[80];
    if (report->source_count == 0)
        return;
    html_table_begin("The daemons", heads, out);
    for (size_t i = 0; i < report->source_count; i++) {
        const struct report_source *row = &report->sources[i];
        snprintf(name, sizeof(name), "%.40s%s%.32s", row->daemon, *row->id ? " " : "", row->id);
        fputs("<tr>", out);
        html_name_cell(name, out);
        html_text_cell(row->version, out);
        fprintf(out, "<td class=\"n\">%d</td>", row->pid);
        html_count_cell(row->ops, out);
        html_text_cell(row->type, out);
        html_duration_cell(row->latency.p50, out);
        html_duration_cell(row->latency.p99, out);
        html_count_cell(row->incomplete, out);
        html_count_cell(row->lost_events, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
}

static void clients(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"client", "#ops", "#bytes", NULL};
    char text[48], number[24];
    if (report->client_count < 2)
        return;
    html_table_begin("Clients", heads, out);
    for (size_t i = 0; i < report->client_count && i < SHOWN_CLIENTS; i++) {
        const struct report_client *client = &report->clients[i];
        snprintf(text, sizeof(text), "%" PRIu64, client->client);
        fputs("<tr>", out);
        html_name_cell(client->client ? text : "not known", out);
        html_count_cell(client->ops, out);
        fprintf(out, "<td class=\"n\">%s</td></tr>\n",
                unit_size(client->bytes, number, sizeof(number)));
    }
    html_table_end(out);
    if (report->client_count > SHOWN_CLIENTS) {
        snprintf(text, sizeof(text), "And %zu more.", report->client_count - SHOWN_CLIENTS);
        html_paragraph("note", text, out);
    }
}

void html_facts(const struct report *report, FILE *out)
{
    html_section("run", "The run, and what is missing", out);
    for (size_t i = 0; i < report->note_count; i++)
        html_paragraph("", report->notes[i], out);
    fputs("<div class=\"pair\"><div>\n", out);
    the_run(report, out);
    cpu(&report->cpu, out);
    fputs("</div><div>\n", out);
    not_in_tables(report, out);
    table("Events lost, or not joined", out);
    count_row("lost by the tracer", report->counts.lost_events, out);
    count_row("of no known op", report->counts.unmatched_events, out);
    count_rows(report->counts.others, report->counts.other_count, out);
    fputs("</tbody></table>\n</div></div>\n", out);
    sources(report, out);
    clients(report, out);
    fputs("</section>\n", out);
}

void html_figures(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"figure", "#value", "of", NULL};
    char text[64];
    if (report->figure_count == 0)
        return;
    html_section("figures", "What other tools said", out);
    html_table_begin("Imported figures", heads, out);
    for (size_t i = 0; i < report->figure_count; i++) {
        const struct report_figure *figure = &report->figures[i];
        fputs("<tr>", out);
        html_name_cell(figure->name, out);
        snprintf(text, sizeof(text), "%.6g %.24s", figure->value, figure->unit);
        fputs("<td class=\"n\">", out);
        flame_out_xml(text, out);
        fputs("</td>", out);
        html_text_cell(figure->source, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}
