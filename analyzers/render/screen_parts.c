/* SPDX-License-Identifier: MIT */
#include "screen_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "text_out.h"
#include "units.h"
#include "plural.h"

const char *const screen_sort_names[SCREEN_SORT_COUNT] = {
    [SCREEN_BY_PATH] = "path", [SCREEN_BY_SHARE] = "share", [SCREEN_BY_P99] = "p99"};

/* The kinds of stages, and how they look. */
static const struct {
    const char *kind, *style;
} kind_styles[] = {
    {"wait", STYLE_WAIT}, {"lock", STYLE_LOCK}, {"io", STYLE_IO},
    {"net", STYLE_NET},   {"work", STYLE_WORK}, {"throttle", STYLE_THROTTLE},
};

static const char *style_of_kind(const char *kind)
{
    for (size_t i = 0; i < sizeof(kind_styles) / sizeof(kind_styles[0]); i++)
        if (strcmp(kind_styles[i].kind, kind) == 0)
            return kind_styles[i].style;
    return STYLE_PLAIN;
}

#define LARGEST_NAME 34

/* Widths in columns; 0: the column is left out. */
struct widths {
    size_t name, kind, share, bar, time, trend;
};

static size_t longest_name(const struct report_op *op)
{
    size_t longest = strlen("unattributed");
    char name[TEXT_NAME];

    for (size_t i = 0; i < op->stage_count; i++) {
        size_t columns = escape_for_terminal(op->stages[i].name, name, sizeof(name));
        longest = columns > longest && op->stages[i].count ? columns : longest;
    }
    return longest < LARGEST_NAME ? longest : LARGEST_NAME;
}

/* How the room is divided: the figures first, then bar and trend, which may be short. */
static struct widths widths_for(size_t columns, size_t name)
{
    struct widths widths = {.name = name, .kind = 9, .share = 7, .time = 9};
    size_t fixed = widths.name + 1 + widths.share + 1 + 2 * widths.time;

    if (fixed + widths.kind + 20 > columns)
        widths.kind = 0;
    fixed += widths.kind;
    size_t left = columns > fixed ? columns - fixed : 0;
    if (left < 5)
        return widths;
    widths.bar = left < 24 ? left / 2 - 1 : left / 3 < 11 ? 11 : left / 3;
    if (widths.bar > 30)
        widths.bar = 30;
    widths.trend = left - widths.bar - 2;
    if (widths.trend > SCREEN_HISTORY_LENGTH)
        widths.trend = SCREEN_HISTORY_LENGTH;
    return widths;
}

/* One line of the table: the cells are text, already in their columns. */
static void table_line(struct page *page, const struct widths *widths, const char *style,
                       const char *const cells[7])
{
    const size_t columns[7] = {widths->name + 1, widths->kind, widths->share,    widths->bar + 1,
                               widths->time,     widths->time, widths->trend + 2};
    char line[PAGE_LINE] = "", cell[PAGE_LINE];
    size_t used = 0;

    for (size_t i = 0; i < 7; i++) {
        if (columns[i] == 0 || ((i == 3 || i == 6) && !widths->bar))
            continue;
        page_cell(cells[i], columns[i], i == 2 || i == 4 || i == 5, cell, sizeof(cell));
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s%s",
                                 i == 1 || i == 3 ? style : "", cell,
                                 *style && (i == 1 || i == 3) ? STYLE_PLAIN : "");
        if (used >= sizeof(line))
            break;
    }
    page_line(page, "%s", line);
}

static void share_cell(double share, char *out, size_t size)
{
    snprintf(out, size, "%.1f %%", 100 * share);
}

static void stage_line(const struct screen *screen, const struct report_op *op,
                       const struct report_stage *stage, const struct widths *widths,
                       struct page *page)
{
    char name[TEXT_NAME], kind[TEXT_NAME], share[24], bar[PAGE_LINE / 4], p50[24], p99[24];
    char trend[PAGE_LINE / 4] = "  ";
    double values[SCREEN_HISTORY_LENGTH];

    escape_for_terminal(stage->name, name, sizeof(name));
    escape_for_terminal(stage->kind, kind, sizeof(kind));
    share_cell(stage->share, share, sizeof(share));
    bar[0] = ' ';
    page_bar(stage->share, widths->bar, bar + 1, sizeof(bar) - 1);
    screen_history_values(screen->history, op->type, stage->name, values, widths->trend);
    page_sparkline(values, widths->trend, trend + 2, sizeof(trend) - 2);
    const char *const cells[7] = {name,
                                  kind,
                                  share,
                                  bar,
                                  unit_duration(stage->latency.p50, p50, sizeof(p50)),
                                  unit_duration(stage->latency.p99, p99, sizeof(p99)),
                                  trend};
    table_line(page, widths, style_of_kind(stage->kind), cells);
}

static void share_line(const char *name, double part, const struct widths *widths,
                       struct page *page)
{
    char share[24], bar[PAGE_LINE / 4] = " ";

    share_cell(part, share, sizeof(share));
    page_bar(part, widths->bar, bar + 1, sizeof(bar) - 1);
    table_line(page, widths, "", (const char *const[7]){name, "", share, bar, "", "", ""});
}

/* In the order of the path, the order of the array. */
static int by_place(const void *a, const void *b)
{
    const struct report_stage *const *left = a, *const *right = b;
    return *left < *right ? -1 : *left > *right;
}

static int by_share(const void *a, const void *b)
{
    const struct report_stage *const *left = a, *const *right = b;
    if ((*left)->total_ns != (*right)->total_ns)
        return (*left)->total_ns < (*right)->total_ns ? 1 : -1;
    return by_place(a, b);
}

static int by_p99(const void *a, const void *b)
{
    const struct report_stage *const *left = a, *const *right = b;
    if ((*left)->latency.p99 != (*right)->latency.p99)
        return (*left)->latency.p99 < (*right)->latency.p99 ? 1 : -1;
    return by_place(a, b);
}

bool screen_order(const struct report_op *op, enum screen_sort sort,
                  const struct report_stage ***order, size_t *count)
{
    static int (*const orders[SCREEN_SORT_COUNT])(const void *, const void *) = {
        [SCREEN_BY_PATH] = by_place, [SCREEN_BY_SHARE] = by_share, [SCREEN_BY_P99] = by_p99};

    *count = 0;
    *order = calloc(op->stage_count + 1, sizeof(const struct report_stage *));
    if (!*order)
        return false;
    for (size_t i = 0; i < op->stage_count; i++)
        if (op->stages[i].count > 0)
            (*order)[(*count)++] = &op->stages[i];
    qsort(*order, *count, sizeof(const struct report_stage *), orders[sort]);
    return true;
}

size_t screen_table_lines(const struct report_op *op)
{
    size_t lines = 2; /* heading and unattributed */

    for (size_t i = 0; i < op->stage_count; i++)
        lines += op->stages[i].count > 0;
    return lines;
}

/* When not all stages fit, those with the least time are left out, whatever the order. */
static size_t leave_out(const struct report_op *op, const struct report_stage **order,
                        size_t *count, size_t room, double *share)
{
    size_t kept = 0, total = *count;

    *share = 0;
    for (size_t i = 0; i < total; i++) {
        size_t larger = 0;
        for (size_t j = 0; j < op->stage_count; j++)
            larger += op->stages[j].total_ns > order[i]->total_ns ||
                      (op->stages[j].total_ns == order[i]->total_ns && &op->stages[j] < order[i] &&
                       op->stages[j].count > 0);
        if (larger < room)
            order[kept++] = order[i];
        else
            *share += order[i]->share;
    }
    *count = kept;
    return total - kept;
}

void screen_table(const struct screen *screen, const struct report_op *op, size_t lines,
                  struct page *page)
{
    static const char *const titles[7] = {"stage", "kind", "share", "", "p50", "p99", "  trend"};
    struct widths widths = widths_for(page->columns, longest_name(op));
    const struct report_stage **order;
    size_t count, left_out = 0;
    double share = 0;
    char name[48];

    if (lines < 3 || !screen_order(op, screen->view.sort, &order, &count))
        return;
    table_line(page, &widths, "", titles);
    if (count + 2 > lines)
        left_out = leave_out(op, order, &count, lines - 3, &share);
    for (size_t i = 0; i < count; i++)
        stage_line(screen, op, order[i], &widths, page);
    if (left_out > 0) {
        snprintf(name, sizeof(name), "%zu smaller", left_out);
        share_line(name, share, &widths, page);
    }
    share_line("unattributed", op->unattributed_share, &widths, page);
    free(order);
}

void screen_exemplar(const struct report_exemplar *exemplar, char *text, size_t size)
{
    const struct report_exemplar_stage *largest = NULL;
    char latency[24], type[TEXT_NAME], stage[TEXT_NAME] = "unattributed", time[24];
    char who[64] = "client not known";
    uint64_t most = exemplar->unattributed_ns;

    for (size_t i = 0; i < exemplar->stage_count; i++) {
        if (exemplar->stages[i].ns < most)
            continue;
        largest = &exemplar->stages[i];
        most = largest->ns;
    }
    escape_for_terminal(exemplar->type, type, sizeof(type));
    if (largest)
        escape_for_terminal(largest->name, stage, sizeof(stage));
    if (exemplar->client)
        snprintf(who, sizeof(who), "client %" PRIu64 " tid %" PRIu64, exemplar->client,
                 exemplar->tid);
    unit_duration(exemplar->latency_ns, latency, sizeof(latency));
    size_t columns = page_columns(latency);
    snprintf(text, size, "%*s%s  %.16s  %s  %.34s %s (%.0f %%)",
             columns < 9 ? (int)(9 - columns) : 0, "", latency, type, who, stage,
             unit_duration(most, time, sizeof(time)),
             exemplar->latency_ns ? 100.0 * (double)most / (double)exemplar->latency_ns : 0.0);
}

/* Behind what is there already: "12 ops open for too long". */
static size_t append_count(char *text, size_t size, size_t used, const char *what,
                           const struct report_count *count)
{
    char number[24], meaning[TEXT_NAME];

    if (count->value == 0 || !text_meaning(count) || used + TEXT_NAME > size)
        return used;
    escape_for_terminal(text_meaning(count), meaning, sizeof(meaning));
    return used + (size_t)snprintf(text + used, size - used, "%s%s %s%s%s%s", used ? ", " : "",
                                   unit_count(count->value, number, sizeof(number)), what,
                                   *what ? plural(count->value) : "", *what ? " " : "", meaning);
}

void screen_losses(const struct report *report, char *text, size_t size)
{
    const struct report_count lost = {(char *)"lost", report->counts.lost_events};
    const struct report_count stray = {(char *)"of no op", report->counts.unmatched_events};
    size_t used = append_count(text, size, 0, "event", &lost);

    for (size_t i = 0; i < report->counts.incomplete_count; i++)
        used = append_count(text, size, used, "op", &report->counts.incomplete[i]);
    used = append_count(text, size, used, "event", &stray);
    for (size_t i = 0; i < report->counts.other_count; i++)
        used = append_count(text, size, used, "", &report->counts.others[i]);
    if (used == 0)
        snprintf(text, size, "nothing lost");
}
