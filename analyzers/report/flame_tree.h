/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_TREE_H
#define OPTRAIL_FLAME_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flame_names.h"

/*
 * A flame graph's data: what analyzers/flame fills and the flame renderers read. Stacks that begin
 * alike share their nodes, so that memory is bounded by the distinct stacks, however many samples
 * there are; and by FLAME_MAX_NODES, whatever comes. Not thread-safe.
 */
#define FLAME_MAX_NODES  2000000u
#define FLAME_MAX_FRAMES 2048u /* of a stack; the frames beyond are counted as cut */
#define FLAME_SIDES      2     /* of a comparison: before and after */

enum flame_unit {
    FLAME_SAMPLES, /* value is a number of samples, as count is */
    FLAME_NS,
};

struct flame_sums {
    uint64_t value; /* in the tree's unit */
    uint64_t count; /* samples, waits, ops */
};

struct flame_node {
    uint32_t name;
    uint32_t parent;
    uint32_t depth;        /* of the root: 0 */
    uint32_t first_child;  /* 0: none. Children are in the order of their totals, the largest */
    uint32_t next_sibling; /* first; only once the tree is finished */
    struct flame_sums self[FLAME_SIDES];
    struct flame_sums total[FLAME_SIDES]; /* with what is above it; only once it is finished */
};

struct flame_tree {
    struct flame_names names;
    char *title;                   /* for people; "" until it is set */
    char *counted;                 /* what `count` counts: "samples", "waits", "ops" */
    enum flame_unit unit;          /* of every value */
    unsigned sides;                /* 1, or 2 of a comparison */
    char *side_names[FLAME_SIDES]; /* "" where there is only one */
    bool inverted;                 /* the innermost frames are next to the root */
    size_t node_count;             /* at least 1: node 0 is the root, whose name is "" */
    struct flame_node *nodes;      /* a parent comes before its children */
    uint32_t deepest;              /* depth of the deepest node; set when finished */
    uint64_t cut_deep;             /* samples whose stack had more frames than there is room for */
    uint64_t cut_room;             /* samples of new stacks when there was no room for nodes */
    size_t note_count;
    char **notes; /* sentences for people: what could not be read or joined */

    /* of the building */
    size_t room;
    uint32_t slots;
    struct flame_slot {
        uint32_t parent, name;
        uint32_t node; /* 0: the slot is free */
    } * table;
    struct flame_known *known; /* stacks that came before, most of which come again */
    struct flame_sums sum[FLAME_SIDES];
    size_t path_count; /* nodes of the stack before, for the next begins like it */
    uint32_t path[FLAME_MAX_FRAMES + 1];
};

/* Negative errno with the message. Owned by the caller. */
int flame_tree_new(enum flame_unit unit, unsigned sides, struct flame_tree **tree);
void flame_tree_free(struct flame_tree *tree); /* NULL is fine */

/* Adds so much to the stack, the outermost frame first (names of tree->names), of the side. What
 * finds no room for its inner frames is counted at the frames that there is room for. -ENOMEM, or
 * -EOVERFLOW when the sum of all would not fit (nothing is added), with the message. */
int flame_tree_add(struct flame_tree *tree, unsigned side, const uint32_t *frames, size_t count,
                   struct flame_sums sums);

/* Sums up the totals and puts children in order. Once, after the last add. */
int flame_tree_finish(struct flame_tree *tree);

int flame_tree_set(char **field, const char *text); /* copies; -ENOMEM with the message */
int flame_tree_note(struct flame_tree *tree, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The share of the side's whole that the value is, 0 to 1; 0 of an empty side. */
double flame_share(const struct flame_tree *tree, unsigned side, uint64_t value);

/* How wide a node is drawn, 0 to 1: its share, of a comparison the mean of both. Children together
 * are never wider than their parent, but for rounding. */
double flame_width(const struct flame_tree *tree, const struct flame_node *node);

/* The node that follows in a walk that visits parents before their children, from 0 on; 0: that
 * was the last one. `into`: whether to visit the node's children too. */
uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node, bool into);

#endif
