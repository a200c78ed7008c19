/* SPDX-License-Identifier: MIT */
/* Stages, locks, the slowest ops, and the graph of stages. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_out.h"
#include "flame_render.h"
#include "html_out.h"
#include "units.h"

#define WIDTH 960
/* Of the locks and of a lock's two sides: the pictures show so many. */
#define LOCKS 3
#define PARTS 5

static void stage_row(const char *name, const char *kind, double share, double tail,
                      const struct report_latency *latency, FILE *out)
{
    fputs("<tr><th scope=\"row\">", out);
    flame_out_xml(name, out);
    fputs("</th>", out);
    html_text_cell(kind, out);
    html_share_cell(share, out);
    html_share_cell(tail, out);
    fprintf(out,
            "<td class=\"meter\" aria-hidden=\"true\"><i style=\"width:%.1f%%\"></i><i "
            "style=\"width:%.1f%%\"></i></td>",
            fmin(100, 100 * share), fmin(100, 100 * tail));
    if (latency) {
        html_duration_cell(latency->p50, out);
        html_duration_cell(latency->p99, out);
    } else {
        fputs("<td></td><td></td>", out);
    }
    fputs("</tr>\n", out);
}

void html_stages(const struct report *report, FILE *out)
{
    html_section("stages", "Stages", out);
    fputs("<p class=\"note\"><span class=\"key\">of all time</span> &nbsp; <span class=\"key "
          "k1\">of the slowest 1 %</span></p>\n",
          out);
    for (size_t i = 0; i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        fputs("<h3>", out);
        flame_out_xml(op->type, out);
        fputs("</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Stages of ",
              out);
        flame_out_xml(op->type, out);
        fputs("\"><table class=\"wide\"><thead><tr><th scope=\"col\">stage</th><th "
              "scope=\"col\">kind</th><th scope=\"col\" class=\"n\">share</th><th scope=\"col\" "
              "class=\"n\">in the tail</th><td></td><th scope=\"col\" class=\"n\">p50</th><th "
              "scope=\"col\" class=\"n\">p99</th></tr></thead><tbody>\n",
              out);
        for (size_t j = 0; j < op->stage_count; j++)
            stage_row(op->stages[j].name, op->stages[j].kind, op->stages[j].share,
                      op->stages[j].tail_share, &op->stages[j].latency, out);
        stage_row("unattributed", "", op->unattributed_share, op->unattributed_tail_share, NULL,
                  out);
        fputs("</tbody></table></div>\n", out);
    }
    fputs("</section>\n", out);
}

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
    html_plot_begin("Who waits for the lock on the left, who holds it on the right.", WIDTH, height,
                    out);
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

void html_locks(const struct report *report, FILE *out)
{
    if (report->lock_count == 0)
        return;
    html_section("locks", "Locks: who waits for whom", out);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Locks\"><table "
          "class=\"wide\"><thead><tr><th scope=\"col\">lock</th><th scope=\"col\" "
          "class=\"n\">waits</th><th scope=\"col\" class=\"n\">waited</th><th scope=\"col\" "
          "class=\"n\">p50</th><th scope=\"col\" class=\"n\">p99</th><th scope=\"col\" "
          "class=\"n\">held</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        fputs("<tr><th scope=\"row\">", out);
        flame_out_xml(lock->name, out);
        fputs("</th>", out);
        html_count_cell(lock->waits, out);
        html_duration_cell(lock->wait_total_ns, out);
        html_duration_cell(lock->wait.p50, out);
        html_duration_cell(lock->wait.p99, out);
        html_share_cell(lock->busy, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n<p class=\"note\">Below, on the left who waits, on the right "
          "who holds it meanwhile.</p>\n",
          out);
    for (size_t i = 0; i < report->lock_count && i < LOCKS; i++)
        if (report->locks[i].waiter_count + report->locks[i].holder_count > 0)
            wait_for(&report->locks[i], out);
    fputs("</section>\n", out);
}

static void waterfall(const struct report_exemplar *op, uint64_t longest, FILE *out)
{
    double at = 10, scale = (double)(WIDTH - 20) / (double)(longest > 0 ? longest : 1);
    char number[24];
    html_plot_begin("The op's stages, one after the other; a table follows.", WIDTH, 42, out);
    for (size_t i = 0; i <= op->stage_count; i++) {
        bool rest = i == op->stage_count;
        uint64_t ns = rest ? op->unattributed_ns : op->stages[i].ns;
        const char *name = rest ? "unattributed" : op->stages[i].name;
        double width = (double)ns * scale;
        fprintf(out,
                "<rect class=\"bar k%zu\" x=\"%.2f\" y=\"8\" width=\"%.2f\" height=\"26\" "
                "data-tip=\"",
                rest ? 2 : i % 2, at, width);
        flame_out_xml(name, out);
        fprintf(out, ": %s\"/>\n", unit_duration(ns, number, sizeof(number)));
        if (width > 8.0 * (double)strlen(name)) {
            fprintf(out, "<text class=\"in\" x=\"%.1f\" y=\"25\">", at + 6);
            flame_out_xml(name, out);
            fputs("</text>\n", out);
        }
        at += width;
    }
    html_plot_end(out);
}

void html_slowest(const struct report *report, FILE *out)
{
    char number[24];
    if (report->exemplar_count == 0)
        return;
    html_section("slowest", "Slowest ops", out);
    fputs("<p class=\"note\">How long each was in which stage, in the order of the path; grey is "
          "what no stage covers.</p>\n",
          out);
    for (size_t i = 0; i < report->exemplar_count; i++) {
        const struct report_exemplar *op = &report->exemplars[i];
        fprintf(out, "<h3>%s, ", unit_duration(op->latency_ns, number, sizeof(number)));
        flame_out_xml(op->type, out);
        if (op->client)
            fprintf(out, ", client %" PRIu64 " tid %" PRIu64, op->client, op->tid);
        fputs("</h3>\n", out);
        waterfall(op, report->exemplars[0].latency_ns, out);
        fputs("<details><summary>As a table</summary><table><tbody>\n", out);
        for (size_t j = 0; j < op->stage_count; j++) {
            fputs("<tr><th scope=\"row\">", out);
            flame_out_xml(op->stages[j].name, out);
            fputs("</th>", out);
            html_duration_cell(op->stages[j].ns, out);
            fputs("</tr>\n", out);
        }
        fputs("<tr><th scope=\"row\">unattributed</th>", out);
        html_duration_cell(op->unattributed_ns, out);
        fputs("</tr>\n</tbody></table></details>\n", out);
    }
    fputs("</section>\n", out);
}

static int add_stack(struct flame_tree *tree, const char *type, const char *stage, uint64_t ns,
                     uint64_t count)
{
    uint32_t frames[2];
    int rc = flame_name(&tree->names, type, strlen(type), &frames[0]);
    if (rc == 0)
        rc = flame_name(&tree->names, stage, strlen(stage), &frames[1]);
    return rc == 0 && ns > 0 ? flame_tree_add(tree, 0, frames, 2, (struct flame_sums){ns, count})
                             : rc;
}

static int stage_tree(const struct report *report, struct flame_tree *tree)
{
    int rc = flame_tree_set(&tree->title, "Stages");
    if (rc == 0)
        rc = flame_tree_set(&tree->counted, "ops");
    for (size_t i = 0; rc == 0 && i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        for (size_t j = 0; rc == 0 && j < op->stage_count; j++)
            rc = add_stack(tree, op->type, op->stages[j].name, op->stages[j].total_ns,
                           op->stages[j].count);
        if (rc == 0)
            rc = add_stack(tree, op->type, "unattributed", op->unattributed_ns, op->count);
    }
    return rc == 0 ? flame_tree_finish(tree) : rc;
}

/* The picture has a script of its own: it gets a frame, in which it cannot touch the page. */
static void write_frame(const char *svg, size_t size, FILE *out)
{
    html_section("flame", "Where the time goes, as a flame graph", out);
    fputs("<iframe title=\"Flame graph of the stages: its figures are those of the tables above\" "
          "sandbox=\"allow-scripts\" src=\"data:image/svg+xml,",
          out);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)svg[i];
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            fputc(c, out);
        else
            fprintf(out, "%%%02x", c);
    }
    fputs("\"></iframe>\n</section>\n", out);
}

int html_flame(const struct report *report, FILE *out)
{
    struct flame_tree *tree = NULL;
    char *svg = NULL;
    size_t size = 0;
    if (report->counts.ops == 0)
        return 0;
    int rc = flame_tree_new(FLAME_NS, 1, &tree);
    if (rc == 0)
        rc = stage_tree(report, tree);
    FILE *memory = rc == 0 ? open_memstream(&svg, &size) : NULL;
    if (rc == 0 && !memory)
        rc = err_no_memory();
    if (rc == 0)
        rc = flame_render_svg(tree, memory);
    if (memory && fclose(memory) == EOF && rc == 0)
        rc = err_no_memory();
    if (rc == 0)
        write_frame(svg, size, out);
    free(svg);
    flame_tree_free(tree);
    return rc;
}
