/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_out.h"
#include "flame_render.h"

/* The stack's text as it stands; frames are put behind it and taken off. */
struct line {
    char *text; /* owned */
    size_t size;
};

static int put(struct line *line, size_t at, const char *name, size_t *end)
{
    size_t length = strlen(name);
    if (!line->text || at + length + 2 > line->size) {
        size_t size = 2 * (at + length + 2);
        char *text = realloc(line->text, size);
        if (!text)
            return err_no_memory();
        line->text = text;
        line->size = size;
    }
    if (at > 0)
        line->text[at++] = ';';
    for (size_t i = 0; i < length; i++) /* what would end the frame or the line */
        line->text[at + i] = name[i] == ';'                       ? ':'
                             : name[i] == '\n' || name[i] == '\r' ? ' '
                                                                  : name[i];
    *end = at + length;
    return 0;
}

static void write_line(const struct flame_tree *tree, const struct flame_node *node,
                       const struct line *line, size_t length, FILE *out)
{
    bool any = false;
    for (unsigned side = 0; side < tree->sides; side++)
        any = any || node->self[side].value > 0;
    if (!any || length == 0)
        return;
    fwrite(line->text, 1, length, out);
    for (unsigned side = 0; side < tree->sides; side++)
        fprintf(out, " %" PRIu64, node->self[side].value);
    fputc('\n', out);
}

int flame_render_collapsed(const struct flame_tree *tree, FILE *out)
{
    struct line line = {0};
    size_t *ends = calloc((size_t)tree->deepest + 1, sizeof(*ends));
    int result = ends ? 0 : err_no_memory();
    for (uint32_t i = 0; result == 0 && (i = flame_tree_next(tree, i, true)) != 0;) {
        const struct flame_node *node = &tree->nodes[i];
        result = put(&line, ends[node->depth - 1], flame_name_text(&tree->names, node->name),
                     &ends[node->depth]);
        if (result == 0)
            write_line(tree, node, &line, ends[node->depth], out);
    }
    free(line.text);
    free(ends);
    return result < 0 ? result : flame_out_check(out);
}
