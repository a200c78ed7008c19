/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "screen_page.h"
#include "screen_parts.h"
#include "text_out.h"
#include "units.h"

/* Below this there is no room for anything that would help. */
#define SMALLEST_COLUMNS 40
#define SMALLEST_LINES   8
/* Lines of stages below which the slowest ops are left out. */
#define FEWEST_STAGES   4
#define SHOWN_EXEMPLARS 8

static const struct {
    const char *key, *text;
} keys[] = {
    {"Tab, right, left", "the next or previous op type"},
    {"s", "sort the stages: as in an op's life, by share, by p99"},
    {"a", "figures of the whole run, or of the last interval"},
    {"p, space", "stop and go on; the tracing goes on meanwhile"},
    {"w", "write the report so far to a file of this directory"},
    {"q", "end the tracing and report"},
    {"?, h", "this page; again: back"},
};

static const struct report_op *find_op(const struct report *report, const char *type)
{
    for (size_t i = 0; i < report->op_count; i++)
        if (strcmp(report->ops[i].type, type) == 0)
            return &report->ops[i];
    return NULL;
}

size_t screen_chosen_type(const struct screen *screen)
{
    for (size_t i = 0; screen->view.type && i < screen->whole->op_count; i++)
        if (strcmp(screen->whole->ops[i].type, screen->view.type) == 0)
            return i;
    return 0;
}

static double rate(uint64_t count, const struct report *report)
{
    return report->source.traced_seconds > 0 ? (double)count / report->source.traced_seconds : 0;
}

static void head(const struct screen *screen, struct page *page)
{
    char name[TEXT_NAME], escaped[4 * TEXT_NAME], cell[PAGE_LINE], right[64];
    uint64_t seconds = (uint64_t)screen->whole->source.seconds;

    text_source_name(screen->whole, name, sizeof(name));
    escape_for_terminal(name, escaped, sizeof(escaped));
    snprintf(right, sizeof(right), "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
             screen->view.paused ? "PAUSED  " : "", seconds / 3600, seconds / 60 % 60,
             seconds % 60);
    size_t columns = page_columns(right) + 1;
    page_cell(escaped, page->columns > columns ? page->columns - columns : 1, false, cell,
              sizeof(cell));
    page_line(page, STYLE_BOLD "%s" STYLE_PLAIN " %s%s", cell,
              screen->view.paused ? STYLE_REVERSE : "", right);
}

/* The op types with their rates; the chosen one in brackets. */
static void types(const struct screen *screen, const struct report *shown, struct page *page)
{
    char line[PAGE_LINE] = "", name[TEXT_NAME], number[24];
    size_t used = 0, chosen = screen_chosen_type(screen);

    for (size_t i = 0; i < screen->whole->op_count && used + TEXT_NAME + 64 < sizeof(line); i++) {
        const struct report_op *op = find_op(shown, screen->whole->ops[i].type);
        escape_for_terminal(screen->whole->ops[i].type, name, sizeof(name));
        unit_rate(rate(op ? op->count : 0, shown), number, sizeof(number));
        used += (size_t)snprintf(line + used, sizeof(line) - used,
                                 i == chosen ? STYLE_REVERSE "[%.32s %s/s]" STYLE_PLAIN " "
                                             : " %.32s %s/s  ",
                                 name, number);
    }
    if (screen->whole->op_count == 0)
        snprintf(line, sizeof(line), "no op has finished yet");
    page_line(page, "%s", line);
}

static void op_figures(const struct screen *screen, const struct report *shown,
                       const struct report_op *op, struct page *page)
{
    char size[24], p50[24], p99[24], max[24], failed[48] = "", number[24];
    char line[PAGE_LINE], trend[PAGE_LINE];
    double values[SCREEN_HISTORY_LENGTH];

    if (op->failed)
        snprintf(failed, sizeof(failed), "  %s failed",
                 unit_count(op->failed, number, sizeof(number)));
    snprintf(line, sizeof(line), "%s/s  p50 %s  p99 %s  max %s%s  mean ",
             unit_size((uint64_t)rate(op->bytes, shown), size, sizeof(size)),
             unit_duration(op->latency.p50, p50, sizeof(p50)),
             unit_duration(op->latency.p99, p99, sizeof(p99)),
             unit_duration(op->latency.max, max, sizeof(max)), failed);
    size_t used = page_columns(line);
    size_t room = page->columns > used ? page->columns - used : 0;
    if (room > SCREEN_HISTORY_LENGTH)
        room = SCREEN_HISTORY_LENGTH;
    screen_history_values(screen->history, op->type, NULL, values, room);
    page_sparkline(values, room, trend, sizeof(trend));
    page_line(page, "%s%s", line, trend);
}

static void help(const struct screen *screen, struct page *page)
{
    char number[24];

    page_line(page, STYLE_BOLD "Keys" STYLE_PLAIN);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        page_line(page, "  %-18s %s", keys[i].key, keys[i].text);
    page_line(page, "%s", "");
    page_line(page, STYLE_BOLD "What is shown" STYLE_PLAIN);
    page_line(page, "  share    part of these ops' time that the stage took");
    page_line(page, "  p50 p99  of the stage's time, over the ops that passed it");
    page_line(page, "  trend    the stage's mean time an op, over the last %s",
              unit_duration((uint64_t)(screen->view.interval_seconds * 1e9 * SCREEN_HISTORY_LENGTH),
                            number, sizeof(number)));
    page_line(page,
              "  kinds    wait, lock, io, net, throttle: it waits for that; work: it computes");
}

static void slowest(const struct report *shown, size_t lines, struct page *page)
{
    char text[PAGE_LINE];

    if (lines < 2 || shown->exemplar_count == 0)
        return;
    page_line(page, STYLE_DIM "slowest ops" STYLE_PLAIN);
    for (size_t i = 0; i < shown->exemplar_count && i + 1 < lines; i++) {
        screen_exemplar(&shown->exemplars[i], text, sizeof(text));
        page_line(page, "%s", text);
    }
}

static void foot(const struct screen *screen, struct page *page)
{
    char text[PAGE_LINE], message[PAGE_LINE / 2];

    screen_losses(screen->whole, text, sizeof(text));
    while (page_left(page) > 2)
        page_line(page, "%s", "");
    page_line(page, "%s", text);
    if (screen->view.message) {
        escape_for_terminal(screen->view.message, message, sizeof(message));
        page_line(page, STYLE_REVERSE "%s", message);
        return;
    }
    page_line(page, STYLE_DIM "%s  Tab type  s sort: %s  p pause  w write  q quit  ? help",
              screen->view.whole_run ? "a whole run " : "a last interval",
              screen_sort_names[screen->view.sort]);
}

static void body(const struct screen *screen, const struct report *shown, struct page *page)
{
    const char *type = screen->whole->ops[screen_chosen_type(screen)].type;
    const struct report_op *op = find_op(shown, type);
    size_t reserved = 2, exemplars = shown->exemplar_count;

    if (!op) {
        page_line(page, "no %.64s in this interval", type);
        return;
    }
    op_figures(screen, shown, op, page);
    if (exemplars > SHOWN_EXEMPLARS)
        exemplars = SHOWN_EXEMPLARS;
    /* the stages come first, then as many of the slowest ops as there is room for */
    size_t room = page_left(page) - reserved;
    size_t wanted = screen_table_lines(op);
    size_t spare = room > wanted ? room - wanted : 0;
    if (spare < 4 && room > FEWEST_STAGES + 5)
        spare = 4;
    if (spare > exemplars + 1)
        spare = exemplars + 1;
    screen_table(screen, op, room - spare, page);
    slowest(shown, spare, page);
}

void screen_render(const struct screen *screen, FILE *out)
{
    const struct screen_view *view = &screen->view;
    const struct report *shown = view->whole_run ? screen->whole : screen->interval;
    struct page page = {.out = out,
                        .columns = view->columns,
                        .lines = view->lines,
                        .utf8 = view->utf8,
                        .color = view->color};

    if (view->columns < SMALLEST_COLUMNS || view->lines < SMALLEST_LINES) {
        page_line(&page, "%zux%zu is too small: %dx%d", view->columns, view->lines,
                  SMALLEST_COLUMNS, SMALLEST_LINES);
        return;
    }
    head(screen, &page);
    types(screen, shown, &page);
    if (view->help)
        help(screen, &page);
    else if (screen->whole->op_count > 0)
        body(screen, shown, &page);
    foot(screen, &page);
}
