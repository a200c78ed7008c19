/* SPDX-License-Identifier: MIT */
/*
 * The flame graph as an SVG that needs nothing else. Each frame is an <svg> of its own, placed in
 * per cent of the width: so that it fits every width, and cuts its label off, also where no script
 * runs. After Brendan Gregg's flame graphs (2011; "The Flame Graph", CACM 59(6), 2016).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_embedded.h"
#include "flame_out.h"
#include "flame_render.h"
#include "units.h"

enum {
    ROW = 18, /* pixels */
    HEAD = 90,
    NOTE_LINE = 16,
    NOTE_COLUMNS = 52,   /* fit 400 pixels */
    MOST_FRAMES = 12000, /* drawn: browsers are slow with more */
    WIDTH_KEYS = 1 << 15,
};

struct svg {
    const struct flame_tree *tree;
    FILE *out;
    unsigned least; /* key of the narrowest frames that are drawn */
    uint64_t drawn;
    double undrawn;   /* share of what is in frames that are not drawn */
    uint32_t deepest; /* of those that are drawn */
    double *x;        /* by depth: where the next frame begins */
};

/* Widths by size, coarsely: the upper bits of a float are in the order of its values. */
static unsigned width_key(double width)
{
    float value = (float)(width < 0 ? 0 : width > 1 ? 1 : width);
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits >> 16 & (WIDTH_KEYS - 1);
}

/* Chooses the width from which on frames are drawn, so that there are not too many. A frame is as
 * wide as its parent at most, so that no parent is missing. */
static int choose_least(struct svg *svg)
{
    const struct flame_tree *tree = svg->tree;
    uint32_t *counts = calloc(WIDTH_KEYS, sizeof(*counts));
    if (!counts)
        return err_no_memory();
    for (size_t i = 0; i < tree->node_count; i++)
        counts[width_key(flame_width(tree, &tree->nodes[i]))]++;
    uint64_t count = 0;
    svg->least = WIDTH_KEYS;
    while (svg->least > width_key(1e-6) && count + counts[svg->least - 1] <= MOST_FRAMES)
        count += counts[--svg->least];
    if (svg->least > width_key(1)) /* at least the root */
        svg->least = width_key(1);
    free(counts);
    for (uint32_t i = 0, first = 1; first || i; first = 0) {
        const struct flame_node *node = &tree->nodes[i];
        bool drawn = i == 0 || width_key(flame_width(tree, node)) >= svg->least;
        svg->drawn += drawn;
        svg->undrawn += drawn ? 0 : flame_width(tree, node);
        if (drawn && node->depth > svg->deepest)
            svg->deepest = node->depth;
        i = flame_tree_next(tree, i, drawn);
    }
    return 0;
}

static unsigned color_of(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (hash ^ hash >> 15) % 8;
}

/* From 0 (gone) over 4 (as before) to 8 (new). */
static unsigned change_of(double before, double after)
{
    double larger = before > after ? before : after;
    if (larger <= 0)
        return 4;
    long step = lround(4 * (after - before) / larger);
    return (unsigned)(4 + step);
}

static void write_amount(const struct flame_tree *tree, struct flame_sums sums, FILE *out)
{
    char text[32];
    if (tree->unit == FLAME_NS)
        fprintf(out, "%s, ", unit_duration(sums.value, text, sizeof(text)));
    fprintf(out, "%s ", unit_count(sums.count, text, sizeof(text)));
    flame_out_xml(tree->counted, out);
}

/* What is told of a frame when the mouse is over it. */
static void write_title(const struct svg *svg, const struct flame_node *node, const char *name)
{
    const struct flame_tree *tree = svg->tree;
    FILE *out = svg->out;
    fputs("<title>", out);
    flame_out_xml(name, out);
    for (unsigned side = 0; side < tree->sides; side++) {
        fputc('\n', out);
        if (tree->sides > 1)
            fputs(side ? "after " : "before ", out);
        fprintf(out, "%.2f %%, ", 100 * flame_share(tree, side, node->total[side].value));
        write_amount(tree, node->total[side], out);
        if (node->first_child && node->self[side].value > 0) {
            char text[32];
            fprintf(out, "; itself %s",
                    tree->unit == FLAME_NS
                        ? unit_duration(node->self[side].value, text, sizeof(text))
                        : unit_count(node->self[side].value, text, sizeof(text)));
        }
    }
    if (tree->sides > 1)
        fprintf(out, "\nchange %+.2f points",
                100 * (flame_share(tree, 1, node->total[1].value) -
                       flame_share(tree, 0, node->total[0].value)));
    fputs("</title>", out);
}

static void write_frame(struct svg *svg, uint32_t number)
{
    const struct flame_tree *tree = svg->tree;
    const struct flame_node *node = &tree->nodes[number];
    FILE *out = svg->out;
    const char *name = number ? flame_name_text(&tree->names, node->name) : "all";
    uint32_t row = tree->inverted ? node->depth : svg->deepest - node->depth;
    double width = number ? flame_width(tree, node) : 1;
    fputs("<svg class=\"f ", out);
    if (tree->sides > 1)
        fprintf(out, "d%u",
                change_of(flame_share(tree, 0, node->total[0].value),
                          flame_share(tree, 1, node->total[1].value)));
    else if (number == 0 || *name == '[')
        fputs("cm", out);
    else
        fprintf(out, "c%u", color_of(name));
    fprintf(out,
            "\" x=\"%.5f%%\" y=\"%u\" width=\"%.5f%%\" height=\"%d\" tabindex=\"%d\" data-d=\"%u\""
            " data-a=\"%" PRIu64 "\"",
            100 * svg->x[node->depth], HEAD + row * ROW, 100 * width, ROW - 1, number ? -1 : 0,
            node->depth, node->total[0].value);
    if (tree->sides > 1)
        fprintf(out, " data-b=\"%" PRIu64 "\"", node->total[1].value);
    fputc('>', out);
    write_title(svg, node, name);
    fputs("<rect width=\"100%\" height=\"100%\"/><text x=\"3\" y=\"12.5\">", out);
    flame_out_xml(name, out);
    fputs("</text></svg>\n", out);
    svg->x[node->depth + 1] = svg->x[node->depth];
    svg->x[node->depth] += width;
}

static void write_frames(struct svg *svg)
{
    const struct flame_tree *tree = svg->tree;
    fputs("<g id=\"frames\">\n", svg->out);
    for (uint32_t i = 0, first = 1; first || i; first = 0) {
        bool drawn = i == 0 || width_key(flame_width(tree, &tree->nodes[i])) >= svg->least;
        if (drawn)
            write_frame(svg, i);
        i = flame_tree_next(tree, i, drawn);
    }
    fputs("</g>\n", svg->out);
}

static void write_head(const struct svg *svg)
{
    const struct flame_tree *tree = svg->tree;
    FILE *out = svg->out;
    fprintf(out,
            "<g id=\"head\"><rect width=\"100%%\" height=\"%d\"/>\n"
            "<svg x=\"1%%\" width=\"98%%\" height=\"20\"><text id=\"title\" y=\"15\">",
            HEAD - 2);
    flame_out_xml(*tree->title ? tree->title : "flame graph", out);
    fputs("</text></svg>\n<svg x=\"1%\" y=\"20\" width=\"98%\" height=\"18\">"
          "<text id=\"total\" y=\"13\">",
          out);
    for (unsigned side = 0; side < tree->sides; side++) {
        fputs(side ? "; " : "", out);
        if (tree->sides > 1)
            fputs(side ? "after: " : "before: ", out);
        write_amount(tree, tree->nodes[0].total[side], out);
    }
    fputs("</text></svg>\n"
          "<foreignObject y=\"38\" width=\"100%\" height=\"30\">"
          "<div xmlns=\"http://www.w3.org/1999/xhtml\" id=\"bar\">"
          "<input id=\"search\" type=\"search\" placeholder=\"search ( / )\" "
          "aria-label=\"search frames\"/><button id=\"reset\">reset zoom</button>"
          "<span id=\"matched\" role=\"status\"></span></div></foreignObject>\n"
          "<svg x=\"1%\" y=\"68\" width=\"98%\" height=\"20\"><text id=\"details\" y=\"14\">"
          "</text></svg></g>\n",
          out);
}

/* The length of the first line of a text that is broken at spaces. */
static size_t line_length(const char *text)
{
    size_t last = 0, columns = 0, at = 0;
    for (; text[at]; at++) {
        columns += ((unsigned char)text[at] & 0xc0) != 0x80;
        if (columns > NOTE_COLUMNS)
            return last ? last : at;
        if (text[at] == ' ')
            last = at;
    }
    return at;
}

/* Writes the text in lines; only counts them when `out` is NULL. */
static unsigned write_note(const char *text, unsigned y, FILE *out)
{
    unsigned lines = 0;
    while (*text) {
        size_t length = line_length(text);
        char line[NOTE_COLUMNS * 4 + 8];
        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        if (out) {
            fprintf(out, "<text x=\"8\" y=\"%u\">", y + lines * NOTE_LINE);
            flame_out_xml(line, out);
            fputs("</text>\n", out);
        }
        lines++;
        text += length;
        while (*text == ' ')
            text++;
    }
    return lines;
}

/* The notes below the frames; returns how many lines they are. */
static unsigned write_notes(const struct svg *svg, const char *undrawn, unsigned y, FILE *out)
{
    unsigned lines = 0;
    for (size_t i = 0; i < svg->tree->note_count; i++)
        lines += write_note(svg->tree->notes[i], y + lines * NOTE_LINE, out);
    return lines + write_note(undrawn, y + lines * NOTE_LINE, out);
}

static void write_all(struct svg *svg)
{
    const struct flame_tree *tree = svg->tree;
    FILE *out = svg->out;
    char undrawn[160] = "", count[32];
    if (svg->drawn < tree->node_count)
        snprintf(undrawn, sizeof(undrawn),
                 "%s frames are too narrow to be drawn and searched: they are %.2f %% of the time "
                 "at most.",
                 unit_count(tree->node_count - svg->drawn, count, sizeof(count)),
                 100 * svg->undrawn);
    unsigned bottom = HEAD + (svg->deepest + 1) * ROW;
    unsigned notes = write_notes(svg, undrawn, 0, NULL);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%u\" class=\"%s\" "
            "data-unit=\"%s\" data-inverted=\"%d\" data-total-a=\"%" PRIu64 "\"",
            bottom + notes * NOTE_LINE + 10, tree->unit == FLAME_NS ? "time" : "samples",
            tree->unit == FLAME_NS ? "ns" : "samples", tree->inverted,
            tree->nodes[0].total[0].value);
    if (tree->sides > 1)
        fprintf(out, " data-total-b=\"%" PRIu64 "\"", tree->nodes[0].total[1].value);
    fputs(">\n<style><![CDATA[\n", out);
    fputs(flame_css, out);
    fputs("]]></style>\n<rect id=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
    write_frames(svg);
    fputs("<g id=\"notes\">\n", out);
    write_notes(svg, undrawn, bottom + 14, out);
    fputs("</g>\n", out);
    write_head(svg);
    fputs("<script><![CDATA[\n", out);
    fputs(flame_js, out);
    fputs("]]></script>\n</svg>\n", out);
}

int flame_render_svg(const struct flame_tree *tree, FILE *out)
{
    struct svg svg = {.tree = tree, .out = out};
    svg.x = calloc((size_t)tree->deepest + 2, sizeof(*svg.x));
    if (!svg.x)
        return err_no_memory();
    int result = choose_least(&svg);
    if (result == 0) {
        write_all(&svg);
        result = flame_out_check(out);
    }
    free(svg.x);
    return result;
}
