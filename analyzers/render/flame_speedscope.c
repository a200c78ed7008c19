/* SPDX-License-Identifier: MIT */
/* speedscope's file format: frames once, then a profile a side as samples and their weights. */
#include <inttypes.h>
#include <stdlib.h>

#include "err.h"
#include "flame_out.h"
#include "flame_render.h"

static bool has_samples(const struct flame_node *node, unsigned side)
{
    return node->self[side].value > 0;
}

/* The frame's numbers: those of the names that the tree uses, in the order of first use. */
static uint32_t number_frames(const struct flame_tree *tree, uint32_t *numbers, FILE *out)
{
    uint32_t count = 0;
    for (size_t i = 1; i < tree->node_count; i++) {
        uint32_t name = tree->nodes[i].name;
        if (numbers[name])
            continue;
        numbers[name] = ++count;
        fputs(count > 1 ? ",\n{\"name\":" : "\n{\"name\":", out);
        flame_out_json(flame_name_text(&tree->names, name), out);
        fputc('}', out);
    }
    return count;
}

static void write_stack(const struct flame_tree *tree, const struct flame_node *node,
                        const uint32_t *numbers, uint32_t *stack, FILE *out)
{
    uint32_t depth = node->depth;
    for (uint32_t at = depth; at > 0; at--) {
        stack[at - 1] = numbers[node->name] - 1;
        node = &tree->nodes[node->parent];
    }
    fputc('[', out);
    for (uint32_t at = 0; at < depth; at++)
        fprintf(out, at ? ",%" PRIu32 : "%" PRIu32, stack[at]);
    fputc(']', out);
}

static void write_profile(const struct flame_tree *tree, unsigned side, const uint32_t *numbers,
                          uint32_t *stack, FILE *out)
{
    bool first = true;
    fputs(side ? ",\n{\"type\":\"sampled\",\"name\":" : "\n{\"type\":\"sampled\",\"name\":", out);
    const char *name = tree->side_names[side];
    flame_out_json(*name ? name : *tree->title ? tree->title : "optrail", out);
    fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
            tree->unit == FLAME_NS ? "nanoseconds" : "none", tree->nodes[0].total[side].value);
    for (uint32_t i = 0; (i = flame_tree_next(tree, i, true)) != 0;) {
        if (!has_samples(&tree->nodes[i], side))
            continue;
        fputs(first ? "" : ",", out);
        write_stack(tree, &tree->nodes[i], numbers, stack, out);
        first = false;
    }
    fputs("],\n\"weights\":[", out);
    first = true;
    for (uint32_t i = 0; (i = flame_tree_next(tree, i, true)) != 0;) {
        if (!has_samples(&tree->nodes[i], side))
            continue;
        fprintf(out, first ? "%" PRIu64 : ",%" PRIu64, tree->nodes[i].self[side].value);
        first = false;
    }
    fputs("]}", out);
}

int flame_render_speedscope(const struct flame_tree *tree, FILE *out)
{
    uint32_t *numbers = calloc(tree->names.count, sizeof(*numbers));
    uint32_t *stack = calloc((size_t)tree->deepest + 1, sizeof(*stack));
    int result = numbers && stack ? 0 : err_no_memory();
    if (result == 0) {
        fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
              "\"exporter\":\"optrail " OPTRAIL_VERSION "\",\n\"name\":",
              out);
        flame_out_json(*tree->title ? tree->title : "optrail", out);
        fputs(",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
        number_frames(tree, numbers, out);
        fputs("]},\n\"profiles\":[", out);
        for (unsigned side = 0; side < tree->sides; side++)
            write_profile(tree, side, numbers, stack, out);
        fputs("]}\n", out);
        result = flame_out_check(out);
    }
    free(numbers);
    free(stack);
    return result;
}
