/* SPDX-License-Identifier: MIT */
#include "flame_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

/* A stack that came before and where it leads to. */
enum { KNOWN_STACKS = 4096, KNOWN_FRAMES = 61 };

struct flame_known {
    uint32_t hash;
    uint32_t node; /* 0: none */
    uint32_t count;
    uint32_t frames[KNOWN_FRAMES];
};

int flame_tree_set(char **field, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory();
    free(*field);
    *field = copy;
    return 0;
}

int flame_tree_note(struct flame_tree *tree, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    char **notes = realloc((void *)tree->notes, (tree->note_count + 1) * sizeof(*notes));
    if (!notes)
        return err_no_memory();
    tree->notes = notes;
    notes[tree->note_count] = NULL;
    int result = flame_tree_set(&notes[tree->note_count], text);
    if (result == 0)
        tree->note_count++;
    return result;
}

static uint32_t slot_of(uint32_t slots, uint32_t parent, uint32_t name)
{
    uint64_t key = (uint64_t)parent << 32 | name;
    __uint128_t product = (__uint128_t)(key ^ 0x2d358dccaa6c78a5ull) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(product ^ product >> 64) & (slots - 1);
}

static int grow_nodes(struct flame_tree *tree)
{
    size_t room = tree->room ? tree->room * 2 : 1024;
    struct flame_node *nodes = realloc(tree->nodes, room * sizeof(*nodes));
    if (!nodes)
        return err_no_memory();
    tree->nodes = nodes;
    tree->room = room;
    uint32_t slots = (uint32_t)room * 2;
    struct flame_slot *table = calloc(slots, sizeof(*table));
    if (!table)
        return err_no_memory();
    for (uint32_t i = 1; i < tree->node_count; i++) {
        uint32_t at = slot_of(slots, nodes[i].parent, nodes[i].name);
        while (table[at].node)
            at = (at + 1) & (slots - 1);
        table[at] = (struct flame_slot){nodes[i].parent, nodes[i].name, i};
    }
    free(tree->table);
    tree->table = table;
    tree->slots = slots;
    return 0;
}

int flame_tree_new(enum flame_unit unit, unsigned sides, struct flame_tree **tree)
{
    struct flame_tree *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    made->unit = unit;
    made->sides = sides;
    int result = flame_names_init(&made->names);
    if (result == 0)
        result = grow_nodes(made);
    made->known = calloc(KNOWN_STACKS, sizeof(*made->known));
    if (result == 0 && !made->known)
        result = err_no_memory();
    if (result == 0)
        result = flame_tree_set(&made->title, "");
    if (result == 0)
        result = flame_tree_set(&made->counted, "samples");
    for (unsigned i = 0; result == 0 && i < FLAME_SIDES; i++)
        result = flame_tree_set(&made->side_names[i], "");
    if (result < 0) {
        flame_tree_free(made);
        return result;
    }
    made->nodes[0] = (struct flame_node){0};
    made->node_count = 1;
    made->path_count = 1;
    *tree = made;
    return 0;
}

void flame_tree_free(struct flame_tree *tree)
{
    if (!tree)
        return;
    flame_names_free(&tree->names);
    for (size_t i = 0; i < tree->note_count; i++)
        free(tree->notes[i]);
    for (size_t i = 0; i < FLAME_SIDES; i++)
        free(tree->side_names[i]);
    free((void *)tree->notes);
    free(tree->title);
    free(tree->counted);
    free(tree->nodes);
    free(tree->table);
    free(tree->known);
    free(tree);
}

/* The child of that name, made if it is new; 0 in *node: no room. */
static int child_of(struct flame_tree *tree, uint32_t parent, uint32_t name, uint32_t *node)
{
    uint32_t at = slot_of(tree->slots, parent, name);
    for (; (*node = tree->table[at].node) != 0; at = (at + 1) & (tree->slots - 1))
        if (tree->table[at].parent == parent && tree->table[at].name == name)
            return 0;
    if (tree->node_count >= FLAME_MAX_NODES)
        return 0;
    if (tree->node_count == tree->room) {
        int result = grow_nodes(tree);
        if (result < 0)
            return result;
        for (at = slot_of(tree->slots, parent, name); tree->table[at].node;)
            at = (at + 1) & (tree->slots - 1);
    }
    *node = (uint32_t)tree->node_count++;
    tree->table[at] = (struct flame_slot){parent, name, *node};
    tree->nodes[*node] =
        (struct flame_node){.name = name, .parent = parent, .depth = tree->nodes[parent].depth + 1};
    return 0;
}

/* The node of a stack; its inner frames are cut off when there is no room. */
static int walk(struct flame_tree *tree, const uint32_t *frames, size_t count, uint32_t *found,
                bool *cut)
{
    size_t depth = 0;
    while (depth < count && depth + 1 < tree->path_count &&
           tree->nodes[tree->path[depth + 1]].name == frames[depth])
        depth++;
    uint32_t node = tree->path[depth];
    for (; depth < count; depth++) {
        uint32_t child;
        int result = child_of(tree, node, frames[depth], &child);
        if (result < 0)
            return result;
        if (child == 0)
            break;
        node = child;
        tree->path[depth + 1] = node;
    }
    tree->path_count = depth + 1;
    *cut = depth < count;
    *found = node;
    return 0;
}

/* The same, of stacks that came before without a walk. */
static int find(struct flame_tree *tree, const uint32_t *frames, size_t count, uint32_t *node,
                bool *cut)
{
    *cut = false;
    if (count == 0 || count > KNOWN_FRAMES)
        return walk(tree, frames, count, node, cut);
    uint32_t hash = flame_names_hash(&tree->names, (const char *)frames, count * sizeof(*frames));
    struct flame_known *known = &tree->known[hash % KNOWN_STACKS];
    if (known->node && known->hash == hash && known->count == count &&
        memcmp(known->frames, frames, count * sizeof(*frames)) == 0) {
        *node = known->node;
        return 0;
    }
    int result = walk(tree, frames, count, node, cut);
    if (result < 0 || *cut)
        return result;
    *known = (struct flame_known){.hash = hash, .node = *node, .count = (uint32_t)count};
    memcpy(known->frames, frames, count * sizeof(*frames));
    return 0;
}

int flame_tree_add(struct flame_tree *tree, unsigned side, const uint32_t *frames, size_t count,
                   struct flame_sums sums)
{
    struct flame_sums sum;
    uint32_t node;
    bool cut;
    if (__builtin_add_overflow(tree->sum[side].value, sums.value, &sum.value) ||
        __builtin_add_overflow(tree->sum[side].count, sums.count, &sum.count))
        return err_set(EOVERFLOW, "the sum of all samples is beyond 2^64");
    if (count > FLAME_MAX_FRAMES) {
        tree->cut_deep += sums.count;
        count = FLAME_MAX_FRAMES;
    }
    int result = find(tree, frames, count, &node, &cut);
    if (result < 0)
        return result;
    tree->cut_room += cut ? sums.count : 0;
    tree->nodes[node].self[side].value += sums.value;
    tree->nodes[node].self[side].count += sums.count;
    tree->sum[side] = sum;
    return 0;
}

double flame_share(const struct flame_tree *tree, unsigned side, uint64_t value)
{
    return tree->sum[side].value ? (double)value / (double)tree->sum[side].value : 0;
}

double flame_width(const struct flame_tree *tree, const struct flame_node *node)
{
    double width = 0;
    unsigned filled = 0;
    for (unsigned side = 0; side < tree->sides; side++) {
        width += flame_share(tree, side, node->total[side].value);
        filled += tree->sum[side].value > 0;
    }
    return filled ? width / filled : 0;
}

static int by_width(const void *left, const void *right, void *context)
{
    const struct flame_tree *tree = context;
    const struct flame_node *a = &tree->nodes[*(const uint32_t *)left];
    const struct flame_node *b = &tree->nodes[*(const uint32_t *)right];
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    double wide_a = flame_width(tree, a), wide_b = flame_width(tree, b);
    if (wide_a != wide_b)
        return wide_a > wide_b ? -1 : 1;
    return strcmp(flame_name_text(&tree->names, a->name), flame_name_text(&tree->names, b->name));
}

int flame_tree_finish(struct flame_tree *tree)
{
    uint32_t *order = malloc(tree->node_count * sizeof(*order));
    if (!order)
        return err_no_memory();
    for (size_t i = 0; i < tree->node_count; i++) {
        order[i] = (uint32_t)i;
        for (unsigned side = 0; side < FLAME_SIDES; side++)
            tree->nodes[i].total[side] = tree->nodes[i].self[side];
        tree->deepest = tree->nodes[i].depth > tree->deepest ? tree->nodes[i].depth : tree->deepest;
    }
    /* children come behind their parents */
    for (size_t i = tree->node_count; i-- > 1;)
        for (unsigned side = 0; side < FLAME_SIDES; side++) {
            struct flame_sums *to = &tree->nodes[tree->nodes[i].parent].total[side];
            to->value += tree->nodes[i].total[side].value;
            to->count += tree->nodes[i].total[side].count;
        }
    qsort_r(order + 1, tree->node_count - 1, sizeof(*order), by_width, tree);
    for (size_t i = tree->node_count; i-- > 1;) {
        struct flame_node *node = &tree->nodes[order[i]];
        node->next_sibling = tree->nodes[node->parent].first_child;
        tree->nodes[node->parent].first_child = order[i];
    }
    free(order);
    return 0;
}

uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node, bool into)
{
    if (into && tree->nodes[node].first_child)
        return tree->nodes[node].first_child;
    while (node && !tree->nodes[node].next_sibling)
        node = tree->nodes[node].parent;
    return node ? tree->nodes[node].next_sibling : 0;
}
