/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_RENDER_H
#define OPTRAIL_FLAME_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "flame_timeline.h"
#include "flame_tree.h"

/*
 * The forms that a flame graph is written in. Each is of a tree or of a timeline (single ops on
 * their threads), and reads nothing else.
 */
struct flame_renderer {
    const char *name;     /* as in --format NAME */
    const char *suffixes; /* of file names that mean this form, parted by spaces */
    const char *text;     /* for the usage */
    bool binary;          /* not for a terminal */
    /* One of them. Writes to `out`; 0, or a negative errno with the message. */
    int (*tree)(const struct flame_tree *tree, FILE *out);
    int (*timeline)(const struct flame_timeline *timeline, FILE *out);
};

/* Ended by a row without name. */
extern const struct flame_renderer flame_renderers[];

/* NULL with a message that lists the names. */
const struct flame_renderer *flame_renderer_by_name(const char *name);

/* The one that the file's name asks for; NULL: none, and no message. */
const struct flame_renderer *flame_renderer_by_file(const char *file);

/* The renderers, as in struct flame_renderer; one file each. */
int flame_render_svg(const struct flame_tree *tree, FILE *out);
int flame_render_collapsed(const struct flame_tree *tree, FILE *out);
int flame_render_speedscope(const struct flame_tree *tree, FILE *out);
int flame_render_pprof(const struct flame_tree *tree, FILE *out);
int flame_render_perfetto(const struct flame_timeline *timeline, FILE *out);

#endif
