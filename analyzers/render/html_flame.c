/* SPDX-License-Identifier: MIT */
/* Flame graphs of what a report knows: the stages of ops, and call paths that wait for locks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_out.h"
#include "flame_render.h"
#include "html_out.h"
#include "html_parts.h"
#include "html_plots.h"

/* Pixels: flame_svg.c's head and rows, and where it may grow no more. */
#define HEAD  140
#define ROW   18
#define LIMIT 640
/* Of a call path. */
#define FRAMES 64

int html_flame_add(struct flame_tree *tree, unsigned side, const char *const *names, size_t count,
                   struct flame_sums sums)
{
    uint32_t frames[FRAMES + 2];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = flame_name(&tree->names, names[i], strlen(names[i]), &frames[i]);
    return rc == 0 && sums.value > 0 ? flame_tree_add(tree, side, frames, count, sums) : rc;
}

/* The picture has a script of its own: it gets a frame, in which it cannot touch the page. */
static void write_frame(const char *svg, size_t size, unsigned height, const char *label, FILE *out)
{
    fprintf(out,
            "<iframe title=\"%s\" style=\"height:%upx\" sandbox=\"allow-scripts\" "
            "src=\"data:image/svg+xml,",
            label, height < LIMIT ? height : LIMIT);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)svg[i];
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            fputc(c, out);
        else
            fprintf(out, "%%%02x", c);
    }
    fputs("\"></iframe>\n", out);
}

int html_flame_picture(struct flame_tree *tree, const char *label, FILE *out)
{
    char *svg = NULL;
    size_t size = 0;
    int rc = flame_tree_finish(tree);
    FILE *memory = rc == 0 ? open_memstream(&svg, &size) : NULL;
    if (rc == 0 && !memory)
        rc = err_no_memory();
    if (rc == 0)
        rc = flame_render_svg(tree, memory);
    if (memory && fclose(memory) == EOF && rc == 0)
        rc = err_no_memory();
    if (rc == 0)
        write_frame(svg, size, HEAD + ROW * (tree->deepest + 1), label, out);
    free(svg);
    return rc;
}

int html_flame_stages(const struct report *report, unsigned side, struct flame_tree *tree)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < report->op_count; i++) {
        const struct report_op *op = &report->ops[i];
        for (size_t j = 0; rc == 0 && j < op->stage_count; j++)
            rc = html_flame_add(tree, side, (const char *[]){op->type, op->stages[j].name}, 2,
                                (struct flame_sums){op->stages[j].total_ns, op->stages[j].count});
        if (rc == 0)
            rc = html_flame_add(tree, side, (const char *[]){op->type, "unattributed"}, 2,
                                (struct flame_sums){op->unattributed_ns, op->count});
    }
    return rc;
}

/* A call path, the outermost frame first, below the lock that it waits for. */
static int add_site(struct flame_tree *tree, const char *lock, const struct report_lock_site *site)
{
    const char *names[FRAMES + 1], *turned[FRAMES + 1];
    char *frames = strdup(site->frames), *rest = NULL;
    size_t count = 0;
    if (!frames)
        return err_no_memory();
    for (char *one = strtok_r(frames, ";", &rest); one && count < FRAMES;
         one = strtok_r(NULL, ";", &rest))
        names[count++] = one;
    turned[0] = lock;
    for (size_t i = 0; i < count; i++)
        turned[i + 1] = names[count - 1 - i];
    int rc =
        html_flame_add(tree, 0, turned, count + 1, (struct flame_sums){site->wait_ns, site->waits});
    free(frames);
    return rc;
}

static int lock_tree(const struct report *report, struct flame_tree *tree)
{
    int rc = flame_tree_set(&tree->title, "Waits for locks, by call path");
    if (rc == 0)
        rc = flame_tree_set(&tree->counted, "waits");
    for (size_t i = 0; rc == 0 && i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        uint64_t waits = lock->waits, ns = lock->wait_total_ns;
        for (size_t j = 0; rc == 0 && j < lock->site_count; j++) {
            waits -= lock->sites[j].waits < waits ? lock->sites[j].waits : waits;
            ns -= lock->sites[j].wait_ns < ns ? lock->sites[j].wait_ns : ns;
            rc = add_site(tree, lock->name, &lock->sites[j]);
        }
        if (rc == 0)
            rc = html_flame_add(tree, 0, (const char *[]){lock->name, "[other call paths]"}, 2,
                                (struct flame_sums){ns, waits});
    }
    return rc;
}

static int stage_tree(const struct report *report, struct flame_tree *tree)
{
    int rc = flame_tree_set(&tree->title, "Stages");
    if (rc == 0)
        rc = flame_tree_set(&tree->counted, "passes");
    return rc == 0 ? html_flame_stages(report, 0, tree) : rc;
}

static int picture(const struct report *report,
                   int (*fill)(const struct report *report, struct flame_tree *tree),
                   const char *label, FILE *out)
{
    struct flame_tree *tree = NULL;
    int rc = flame_tree_new(FLAME_NS, 1, &tree);
    if (rc == 0)
        rc = fill(report, tree);
    if (rc == 0)
        rc = html_flame_picture(tree, label, out);
    flame_tree_free(tree);
    return rc;
}

int html_flame(const struct report *report, FILE *out)
{
    bool sites = false;
    if (report->counts.ops == 0)
        return 0;
    for (size_t i = 0; i < report->lock_count; i++)
        sites = sites || (report->locks[i].site_count > 0 && report->locks[i].wait_total_ns > 0);
    html_section("flame", "Where the time goes, as a flame graph", out);
    int rc = picture(report, stage_tree,
                     "Flame graph of the stages: its figures are those of the tables above", out);
    if (rc == 0 && sites) {
        fputs("<h3>Waits for locks, by call path</h3>\n", out);
        rc = picture(report, lock_tree,
                     "Flame graph of the call paths that wait for locks: how long in all stands in "
                     "the table of the locks",
                     out);
    }
    fputs("</section>\n", out);
    return rc;
}
