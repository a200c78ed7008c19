/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "escape.h"
#include "screen.h"
#include "screen_parts.h"
#include "text_out.h"
#include "units.h"

/* Shares below this are left out of plain lines; they are in the report in the end. */
#define WORTH_A_LINE 0.01
/* Slowest ops that are told. */
#define PLAIN_EXEMPLARS 1

static void plain_stages(const struct report_op *op, struct page *page)
{
    const struct report_stage **order;
    size_t count;
    char name[TEXT_NAME], kind[TEXT_NAME], p50[24], p99[24];

    if (!screen_order(op, SCREEN_BY_SHARE, &order, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct report_stage *stage = order[i];
        if (stage->share < WORTH_A_LINE)
            continue;
        escape_for_terminal(stage->name, name, sizeof(name));
        escape_for_terminal(stage->kind, kind, sizeof(kind));
        page_line(page, "  %-20s %-8s %5.1f %%  p50 %s  p99 %s", name, kind, 100 * stage->share,
                  unit_duration(stage->latency.p50, p50, sizeof(p50)),
                  unit_duration(stage->latency.p99, p99, sizeof(p99)));
    }
    if (op->unattributed_share >= WORTH_A_LINE)
        page_line(page, "  %-20s %-8s %5.1f %%", "unattributed", "", 100 * op->unattributed_share);
    free(order);
}

static void plain_op(const struct report *report, const struct report_op *op, const char *clock,
                     struct page *page)
{
    char type[TEXT_NAME], number[24], size[24], p50[24], p99[24], max[24];
    double seconds = report->source.traced_seconds;

    escape_for_terminal(op->type, type, sizeof(type));
    page_line(
        page, "%s %.64s %s/s  %s/s  p50 %s  p99 %s  max %s", clock, type,
        unit_rate(seconds > 0 ? (double)op->count / seconds : 0, number, sizeof(number)),
        unit_size(seconds > 0 ? (uint64_t)((double)op->bytes / seconds) : 0, size, sizeof(size)),
        unit_duration(op->latency.p50, p50, sizeof(p50)),
        unit_duration(op->latency.p99, p99, sizeof(p99)),
        unit_duration(op->latency.max, max, sizeof(max)));
    plain_stages(op, page);
}

void screen_plain(const struct screen *screen, const char *clock, FILE *out)
{
    const struct report *report = screen->interval;
    struct page page = {
        .out = out, .columns = PAGE_LINE, .lines = SIZE_MAX, .utf8 = screen->view.utf8};
    char text[PAGE_LINE];

    if (report->op_count == 0)
        page_line(&page, "%s no ops", clock);
    for (size_t i = 0; i < report->op_count; i++)
        plain_op(report, &report->ops[i], clock, &page);
    for (size_t i = 0; i < report->exemplar_count && i < PLAIN_EXEMPLARS; i++) {
        screen_exemplar(&report->exemplars[i], text, sizeof(text));
        page_line(&page, "  slowest%s", text);
    }
    screen_losses(screen->whole, text, sizeof(text));
    page_line(&page, "  so far: %s", text);
}
