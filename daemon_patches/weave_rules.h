/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_RULES_H
#define OPTRAIL_WEAVE_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Where in a function a probe is put (docs/weave.md). */
enum weave_position {
    WEAVE_NOWHERE,
    WEAVE_ENTRY,
    WEAVE_EXIT,
    WEAVE_EXIT_LATE,
    WEAVE_BEFORE,
    WEAVE_AFTER,
    WEAVE_AROUND,
    WEAVE_IN,
    WEAVE_END /* of a build file */
};

/* What is put there: the probe, or what WEAVE_AROUND has in its stead. */
enum weave_text { WEAVE_PROBE, WEAVE_TEXT_BEFORE, WEAVE_TEXT_AFTER, WEAVE_TEXT_LEAVE, WEAVE_TEXTS };

#define WEAVE_ALTERNATIVES 8

/* All texts are owned. */
struct weave_names {
    char *rows[WEAVE_ALTERNATIVES];
    size_t count;
};

struct weave_rule {
    char *name; /* a-z, 0-9 and _ */
    /* alternatives, tried in this order until the function is found */
    struct weave_names files;      /* below the tree */
    struct weave_names functions;  /* "a::b::f" */
    struct weave_names signatures; /* or none */
    enum weave_position position;
    char *anchor;             /* of those that have one: what is called; else NULL */
    char *behind;             /* only anchors behind this text count, or NULL */
    unsigned occurrence;      /* which of the anchors, from 1; 0: there is only one */
    bool every;               /* all of them */
    char *texts[WEAVE_TEXTS]; /* calls without semicolons, or NULL */
    bool optional;
};

#define WEAVE_BUILD_LINES 16

/* Lines of a build file, which has no functions. All texts are owned. */
struct weave_build {
    char *name;
    struct weave_names files;     /* alternatives, tried until the anchor is found */
    enum weave_position position; /* WEAVE_BEFORE, WEAVE_AFTER or WEAVE_END */
    char *anchor;                 /* a whole line, blanks at its ends aside; or NULL */
    char *lines[WEAVE_BUILD_LINES];
    size_t line_count;
    bool optional;
};

struct weave_rules {
    struct weave_rule *rows; /* owned */
    size_t count;
    struct weave_build *builds; /* owned */
    size_t build_count;
    char *include; /* what the files need: "<optrail/probe.h>"; owned */
};

/* Whether a rule or a build has that name already, the newest one of `own` aside. */
bool weave_rules_have(const struct weave_rules *rules, const char *name, const void *own);

/* Adds the rules of a YAML file. 0, or a negative errno with err_set that names file and line. */
int weave_rules_read_file(const char *name, struct weave_rules *rules);

/* Reads a YAML file of rules, or those of a directory (*.yaml, in the order of their names) as one.
 * 0, or a negative errno with err_set that names file and line; `rules` is then empty. */
int weave_rules_read(const char *name, struct weave_rules *rules);

/* The directory of the shipped rules for the daemon `name` ("ceph"): below $OPTRAIL_RULES, beside
 * an installation that was moved, where it was installed, or in the source tree. NULL: there are
 * none. Weak, and good until the next call; not thread-safe. */
const char *weave_rules_shipped(const char *name);
void weave_rules_free(struct weave_rules *rules);

#endif
