/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "escape.h"
#include "text_out.h"
#include "units.h"

#define SMALLEST_NAME 16
#define LARGEST_NAME  34
#define LARGEST_BAR   20 /* columns that stand for 100 %, where there is room */

/* The columns of the stage table, in order. */
enum column {
    COLUMN_NAME,
    COLUMN_KIND,
    COLUMN_SHARE,
    COLUMN_BAR,
    COLUMN_P50,
    COLUMN_P99,
    COLUMN_TAIL
};

static const struct {
    const char *title;
    size_t width; /* 0: found from the names, or from the room that is left */
    bool right;
} columns[] = {
    [COLUMN_NAME] = {"stage", 0, false},       [COLUMN_KIND] = {"kind", 10, false},
    [COLUMN_SHARE] = {"share", 7, true},       [COLUMN_BAR] = {"", 0, false},
    [COLUMN_P50] = {"p50", 9, true},           [COLUMN_P99] = {"p99", 10, true},
    [COLUMN_TAIL] = {"slowest 1 %", 13, true},
};

/* One line of the table. */
struct line {
    char cells[COLUMN_TAIL + 1][TEXT_NAME];
};

/* The widths that depend on names and page. */
struct layout {
    size_t name;
    size_t bar;
};

static struct layout lay_out(size_t longest_name, int width)
{
    struct layout layout = {.name = longest_name + 2, .bar = 0};
    size_t taken = 2 + layout.name;

    for (size_t i = 0; i <= COLUMN_TAIL; i++)
        taken += columns[i].width;
    /* two blanks before it and one behind */
    if (taken + 3 < (size_t)width)
        layout.bar = (size_t)width - taken - 3;
    if (layout.bar > LARGEST_BAR)
        layout.bar = LARGEST_BAR;
    return layout;
}

static void print_line(FILE *out, const struct line *line, const struct layout *layout)
{
    size_t last = COLUMN_TAIL;

    while (last > 0 && !line->cells[last][0])
        last--;
    fputs("  ", out);
    for (size_t i = 0; i <= last; i++) {
        size_t width = columns[i].width;
        if (i == COLUMN_NAME)
            width = layout->name;
        else if (i == COLUMN_BAR)
            width = layout->bar ? layout->bar + 3 : 0;
        size_t used = text_columns(line->cells[i]);
        /* no blanks at a line's end */
        if (i == last && !columns[i].right)
            width = used;
        text_cell(out, line->cells[i], used, width, columns[i].right);
    }
    fputc('\n', out);
}

/* A bar of eighths of a column. What is not quite nothing is seen. */
static void bar(double share, const struct layout *layout, char *out, size_t size)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    long full = 8 * (long)layout->bar, count = lround(share * (double)full);

    out[0] = '\0';
    if (full == 0)
        return;
    snprintf(out, size, "  ");
    if (count < 1 && share > 0)
        count = 1;
    if (count > full)
        count = full;
    for (long i = 0; i < count / 8; i++)
        strncat(out, "█", size - strlen(out) - 1);
    strncat(out, eighths[count % 8], size - strlen(out) - 1);
}

static void percent(double share, char *out, size_t size)
{
    snprintf(out, size, "%.1f %%", isfinite(share) ? 100 * share : 0.0);
}

/* Escaped, and cut to the widest name that fits the table. */
static void fit_name(const char *name, char *out, size_t size)
{
    size_t width = 0;

    escape_for_terminal(name, out, size);
    for (char *at = out; *at; at++) {
        if ((*at & 0xc0) == 0x80)
            continue;
        if (width++ == LARGEST_NAME - 1 && text_columns(at) > 1) {
            snprintf(at, size - (size_t)(at - out), "…");
            return;
        }
    }
}

static void heading(FILE *out, const struct report *report, const struct report_op *op)
{
    char number[24], text[512], name[TEXT_NAME];
    size_t used;

    escape_for_terminal(op->type, name, sizeof(name));
    used = (size_t)snprintf(text, sizeof(text), "%.64s", name);
    if (report->source.traced_seconds > 0 && report->source.clock_jumps == 0)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "   %s/s",
            unit_rate((double)op->count / report->source.traced_seconds, number, sizeof(number)));
    if (report_tells_bytes(report, op))
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "   %s",
            unit_size(op->count ? op->bytes / op->count : 0, number, sizeof(number)));
    if (op->failed)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "   %s failed",
                                 unit_count(op->failed, number, sizeof(number)));
    const struct {
        const char *name;
        uint64_t ns;
    } figures[] = {{"mean", (uint64_t)(op->latency.mean + 0.5)},
                   {"p50", op->latency.p50},
                   {"p99", op->latency.p99},
                   {"p99.9", op->latency.p999},
                   {"max", op->latency.max}};
    size_t left = text_columns(text);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%*s",
                             left < 28 ? (int)(28 - left) : 2, "");
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", i ? "  " : "",
                             figures[i].name, unit_duration(figures[i].ns, number, sizeof(number)));
    fprintf(out, "\n%s\n", text);
}

/* Imported ops are not told apart by how slow they are. */
static void tail_cell(const struct report *report, double share, struct line *line)
{
    if (report_is_imported(report))
        strcpy(line->cells[COLUMN_TAIL], "-");
    else
        percent(share, line->cells[COLUMN_TAIL], TEXT_NAME);
}

static void stage_line(struct line *line, const struct report *report,
                       const struct report_stage *stage, const struct layout *layout)
{
    memset(line, 0, sizeof(*line));
    fit_name(stage->name, line->cells[COLUMN_NAME], TEXT_NAME);
    escape_for_terminal(stage->kind, line->cells[COLUMN_KIND], TEXT_NAME);
    percent(stage->share, line->cells[COLUMN_SHARE], TEXT_NAME);
    bar(stage->share, layout, line->cells[COLUMN_BAR], TEXT_NAME);
    unit_duration(stage->latency.p50, line->cells[COLUMN_P50], TEXT_NAME);
    unit_duration(stage->latency.p99, line->cells[COLUMN_P99], TEXT_NAME);
    tail_cell(report, stage->tail_share, line);
}

/* Branches that were not the last to end: their time is on nobody's way. */
static void beside(FILE *out, const struct report_op *op, int width)
{
    char text[2048] = "", number[24];
    size_t used = 0;

    for (size_t i = 0; i < op->stage_count; i++) {
        if (op->stages[i].beside_ns == 0 || used + 300 > sizeof(text))
            continue;
        used += (size_t)snprintf(
            text + used, sizeof(text) - used, "%s%.200s %s",
            used ? ", " : "beside it, an op: ", op->stages[i].name,
            unit_duration(op->stages[i].beside_ns / op->count, number, sizeof(number)));
    }
    text_paragraph(out, 2, width, text);
}

void text_op(FILE *out, const struct report *report, const struct report_op *op, int width)
{
    struct line line = {0};
    size_t longest = SMALLEST_NAME;

    heading(out, report, op);
    if (op->stage_count == 0)
        return;
    for (size_t i = 0; i < op->stage_count; i++) {
        if (op->stages[i].count == 0 && op->stages[i].beside_ns == 0)
            continue;
        fit_name(op->stages[i].name, line.cells[0], TEXT_NAME);
        size_t used = text_columns(line.cells[0]);
        longest = used > longest ? used : longest;
    }
    struct layout layout = lay_out(longest, width);
    for (size_t i = 0; i <= COLUMN_TAIL; i++)
        snprintf(line.cells[i], TEXT_NAME, "%s", columns[i].title);
    print_line(out, &line, &layout);
    /* a stage of the path that no op of this type passed has nothing to say */
    for (size_t i = 0; i < op->stage_count; i++) {
        if (op->stages[i].count == 0)
            continue;
        stage_line(&line, report, &op->stages[i], &layout);
        print_line(out, &line, &layout);
    }
    memset(&line, 0, sizeof(line));
    strcpy(line.cells[COLUMN_NAME], "unattributed");
    percent(op->unattributed_share, line.cells[COLUMN_SHARE], TEXT_NAME);
    bar(op->unattributed_share, &layout, line.cells[COLUMN_BAR], TEXT_NAME);
    tail_cell(report, op->unattributed_tail_share, &line);
    print_line(out, &line, &layout);
    beside(out, op, width);
}
