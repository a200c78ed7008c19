/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "text_out.h"
#include "units.h"

/* The slowest ops, one line each: how long, whose, and where most of the time went. */
#define SHOWN_OPS    3
#define SHOWN_STAGES 3
/* where the stages stand in the line */
#define STAGES_COLUMN 50

/* Adds the largest stage that is smaller than `below` to the text; returns its time, 0: none. */
static uint64_t add_stage(const struct report_exemplar *exemplar, uint64_t below, char *text,
                          size_t size)
{
    const char *name = exemplar->unattributed_ns < below ? "unattributed" : NULL;
    uint64_t most = name ? exemplar->unattributed_ns : 0;
    char number[24], escaped[128];
    size_t used = strlen(text);

    for (size_t i = 0; i < exemplar->stage_count; i++) {
        if (exemplar->stages[i].ns >= below || exemplar->stages[i].ns <= most)
            continue;
        most = exemplar->stages[i].ns;
        name = exemplar->stages[i].name;
    }
    if (most == 0)
        return 0;
    escape_for_terminal(name, escaped, sizeof(escaped));
    snprintf(text + used, size - used, "%s%.40s %s", used ? ", " : "", escaped,
             unit_duration(most, number, sizeof(number)));
    return most;
}

static void exemplar_line(const struct report_exemplar *exemplar, int width, FILE *out)
{
    char type[64], who[64] = "", number[24], stages[256] = "";
    uint64_t below = UINT64_MAX;

    escape_for_terminal(exemplar->type, type, sizeof(type));
    if (exemplar->client)
        snprintf(who, sizeof(who), "client %" PRIu64 " tid %" PRIu64, exemplar->client,
                 exemplar->tid);
    for (int i = 0; i < SHOWN_STAGES && below > 0; i++) {
        size_t fits = strlen(stages);
        below = add_stage(exemplar, below, stages, sizeof(stages));
        if (i > 0 && STAGES_COLUMN + text_columns(stages) > (size_t)width)
            stages[fits] = '\0';
    }
    unit_duration(exemplar->latency_ns, number, sizeof(number));
    fputs("  ", out);
    text_cell(out, type, text_columns(type), 12, 0);
    text_cell(out, number, text_columns(number), 10, 1);
    fputs("   ", out);
    text_cell(out, who, text_columns(who), 22, 0);
    fprintf(out, " %s\n", stages);
}

void text_exemplars(FILE *out, const struct report *report, int width)
{
    if (report->exemplar_count == 0)
        return;
    fputs("\nslowest\n", out);
    for (size_t i = 0; i < report->exemplar_count && i < SHOWN_OPS; i++)
        exemplar_line(&report->exemplars[i], width, out);
}
