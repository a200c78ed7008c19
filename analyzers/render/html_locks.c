/* SPDX-License-Identifier: MIT */
/* Locks and who is at them, queues and who serves them, peers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "flame_out.h"
#include "html_out.h"
#include "html_parts.h"
#include "units.h"

/* Of the locks and of a lock's two sides: the pictures show so many. */
#define LOCKS 3
#define PARTS 5

/* One side of a lock: who waits for it, or who holds it. */
static void side(const struct report_part *parts, size_t count, bool holders, int middle, FILE *out)
{
    int x = holders ? 660 : 10, from = holders ? 590 : 300, to = holders ? 660 : 370;
    for (size_t i = 0; i < count && i < PARTS; i++) {
        int y = 12 + 34 * (int)i;
        fprintf(out, "<path class=\"edge k%d\" stroke-width=\"%.1f\" d=\"M%d %dL%d %d\"/>", holders,
                1 + 9 * parts[i].share, from, holders ? middle : y + 13, to,
                holders ? y + 13 : middle);
        fprintf(out,
                "<rect class=\"node\" x=\"%d\" y=\"%d\" width=\"290\" height=\"26\" rx=\"4\"/>"
                "<text class=\"name\" x=\"%d\" y=\"%d\">",
                x, y, x + 8, y + 17);
        char name[33];
        snprintf(name, sizeof(name), "%s", parts[i].name);
        flame_out_xml(name, out);
        fprintf(out, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f %%</text>\n", x + 282,
                y + 17, 100 * parts[i].share);
    }
}

static void wait_for(const struct report_lock *lock, FILE *out)
{
    size_t rows = lock->waiter_count > lock->holder_count ? lock->waiter_count : lock->holder_count;
    rows = rows < 1 ? 1 : rows > PARTS ? PARTS : rows;
    int height = 20 + 34 * (int)rows, middle = height / 2;
    char name[28];
    html_plot_begin("Who waits for the lock on the left, who holds it on the right; a table "
                    "follows.",
                    HTML_WIDE, height, out);
    side(lock->waiters, lock->waiter_count, false, middle, out);
    side(lock->holders, lock->holder_count, true, middle, out);
    fprintf(out,
            "<rect class=\"node\" x=\"370\" y=\"%d\" width=\"220\" height=\"30\" rx=\"15\"/><text "
            "class=\"name\" x=\"480\" y=\"%d\" text-anchor=\"middle\">",
            middle - 15, middle + 4);
    snprintf(name, sizeof(name), "%s", lock->name);
    flame_out_xml(name, out);
    fputs("</text>\n", out);
    html_plot_end(out);
}

static void part_rows(const char *does, const struct report_part *parts, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        fputs("<tr>", out);
        html_name_cell(parts[i].name, out);
        html_text_cell(does, out);
        html_duration_cell(parts[i].ns, out);
        html_share_cell(parts[i].share, out);
        fputs("</tr>\n", out);
    }
}

static void sides_table(const struct report_lock *lock, FILE *out)
{
    static const char *const heads[] = {"in", "does", "#time", "#share", NULL};
    fputs("<details><summary>As a table</summary>", out);
    html_table_begin("Who waits for the lock and who holds it", heads, out);
    part_rows("waits", lock->waiters, lock->waiter_count, out);
    part_rows("holds", lock->holders, lock->holder_count, out);
    html_table_end(out);
    fputs("</details>\n", out);
}

void html_locks(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"lock", "#waits", "#waited", "#p50", "#p99", "#held", NULL};
    if (report->lock_count == 0)
        return;
    html_section("locks", "Locks: who waits for whom", out);
    html_table_begin("Locks", heads, out);
    for (size_t i = 0; i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        fputs("<tr>", out);
        html_name_cell(lock->name, out);
        html_count_cell(lock->waits, out);
        html_duration_cell(lock->wait_total_ns, out);
        html_duration_cell(lock->wait.p50, out);
        html_duration_cell(lock->wait.p99, out);
        html_share_cell(lock->busy, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    html_paragraph("note", "Below, on the left who waits, on the right who holds it meanwhile.",
                   out);
    for (size_t i = 0; i < report->lock_count && i < LOCKS; i++)
        if (report->locks[i].waiter_count + report->locks[i].holder_count > 0) {
            wait_for(&report->locks[i], out);
            sides_table(&report->locks[i], out);
        }
    fputs("</section>\n", out);
}

void html_queues(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"queue",    "#ops/s", "#waiting",  "#threads", "#busy",
                                        "#busiest", "#an op", "busy with", NULL};
    bool any = false;
    char text[160];
    for (size_t i = 0; i < report->queue_count; i++)
        any = any || report->queues[i].servers > 0;
    if (!any)
        return;
    html_section("queues", "Queues and their threads", out);
    html_table_begin("Queues", heads, out);
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        if (queue->servers == 0) /* who takes from it was not seen */
            continue;
        fputs("<tr>", out);
        html_name_cell(queue->stage, out);
        fprintf(out, "<td class=\"n\">%s</td>", unit_rate(queue->rate, text, sizeof(text)));
        html_duration_cell(queue->ops ? queue->wait_total_ns / queue->ops : 0, out);
        html_count_cell(queue->servers, out);
        html_share_cell(queue->busy, out);
        html_share_cell(queue->busiest, out);
        html_duration_cell((uint64_t)queue->service_ns, out);
        *text = '\0';
        if (queue->part_count > 0 && queue->parts[0].share > 0)
            snprintf(text, sizeof(text), "%.96s %.0f %%", queue->parts[0].name,
                     100 * queue->parts[0].share);
        html_text_cell(text, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}

void html_peers(const struct report *report, FILE *out)
{
    static const char *const heads[] = {"peer", "of process", "#asked",      "#answers",
                                        "#p50", "#p99",       "#waited for", NULL};
    char number[24];
    if (report->peer_count == 0)
        return;
    html_section("peers", "Peers: whose answer is waited for", out);
    html_table_begin("Peers", heads, out);
    for (size_t i = 0; i < report->peer_count; i++) {
        const struct report_peer *peer = &report->peers[i];
        snprintf(number, sizeof(number), "%" PRIu64, peer->peer);
        fputs("<tr>", out);
        html_name_cell(number, out);
        fprintf(out, "<td>%d</td>", peer->pid);
        html_count_cell(peer->asked, out);
        html_count_cell(peer->latency.count, out);
        html_duration_cell(peer->latency.p50, out);
        html_duration_cell(peer->latency.p99, out);
        html_share_cell(peer->last_share, out);
        fputs("</tr>\n", out);
    }
    html_table_end(out);
    fputs("</section>\n", out);
}
