/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flame_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No frame has more than what is above it and itself, and nothing is lost on the way to the root.
 */
static void check(const struct flame_tree *tree)
{
    for (unsigned side = 0; side < tree->sides; side++) {
        uint64_t value = 0, count = 0;
        for (size_t i = 0; i < tree->node_count; i++) {
            const struct flame_node *node = &tree->nodes[i];
            value += node->self[side].value;
            count += node->self[side].count;
            if (node->total[side].value < node->self[side].value || (i > 0 && node->parent >= i))
                abort();
        }
        if (value != tree->sum[side].value || count != tree->sum[side].count ||
            tree->nodes[0].total[side].value != value)
            abort();
    }
}

static void read_as(const struct flame_reader *reader, const char *file)
{
    const struct flame_options options = {.by_count = reader == &flame_read_perf,
                                          .by = {FLAME_BY_THREAD}};
    struct flame_read_counts counts = {0};
    struct flame_lines lines;
    struct flame_tree *tree = NULL;
    struct flame_fold *fold = NULL;
    const char *text = NULL;
    size_t length = 0;

    if (flame_lines_open(&lines, file) < 0)
        abort();
    bool two = reader == &flame_read_collapsed && flame_lines_peek(&lines, &text, &length) == 0 &&
               flame_has_two_columns(text, length);
    const struct flame_read_options reading = {.two_columns = two};
    if (flame_fold_new(&options, two ? 2 : 1, &fold, &tree) < 0)
        abort();
    if (reader->read(&lines, &reading, fold, &counts) == 0 && flame_fold_finish(fold) == 0) {
        char damage[1024];
        flame_damage_text(&counts.damage, "text", damage, sizeof(damage));
        check(tree);
    }
    flame_fold_free(fold);
    flame_tree_free(tree);
    flame_lines_close(&lines);
}

/* Stacks as perf script prints them, or collapsed, gzipped or not: as what it looks like, and as
 * either, as --input would have it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("text", MFD_CLOEXEC);
    char file[64];

    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(file, sizeof(file), "/proc/self/fd/%d", descriptor);
    read_as(&flame_read_perf, file);
    read_as(&flame_read_collapsed, file);
    close(descriptor);
    return 0;
}
