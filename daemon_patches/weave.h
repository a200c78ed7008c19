/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_H
#define OPTRAIL_WEAVE_H

#include <stdio.h>

#include "weave_file.h"
#include "weave_rules.h"

/* What became of a rule. */
enum weave_state { WEAVE_PLACED, WEAVE_ABSENT /* and optional */, WEAVE_REFUSED };

struct weave_outcome {
    const char *name; /* of the rule, or the build; weak */
    enum weave_state state;
    const char *file;     /* below the tree; that of the lines, or the first one looked at; weak */
    const char *function; /* that has the lines; NULL: a build; weak: of the rules */
    char *reason;         /* owned; NULL when placed */
};

struct weaving {
    struct weave_tree tree;
    struct weave_record record;     /* what was woven before */
    bool recorded;                  /* whether the tree had a record */
    struct weave_outcome *outcomes; /* the rules, then the builds; owned */
    size_t outcome_count, rule_count, refused;
    struct weave_file *files; /* those of the rules, and of the record; owned */
    size_t file_count;
};

/* Reads the files of the tree that its record and the rules name, and works out their new texts in
 * memory. A rule that has no place is an outcome, no error. Rules may be NULL: the record alone.
 * `prefix` is where the probes are installed, for builds. `tree` and `rules` must outlive it. 0, or
 * a negative errno with err_set; free `weaving` after success. */
int weave_prepare(const char *tree, const struct weave_rules *rules, const char *prefix,
                  struct weaving *weaving);

/* What became of files; the counts are good after a failure, too. */
struct weave_written {
    size_t changed;
    size_t disowned; /* of these, those that could not be given to their owner or group */
    size_t strays;   /* removed: files that an interrupted run had left beside these */
};

/* Gives the files their woven text, or the clean one, and the tree its record: all are written
 * beside the old ones first, then renamed. Files that are as they should be are not touched.
 * SIGHUP, SIGINT and SIGTERM are blocked meanwhile; one that comes before the first rename makes it
 * -EINTR. After a failure nothing is left beside the files. -EINVAL and nothing done when it is not
 * an undo and a rule was refused; -EBUSY when another process is at it. */
int weave_write(const struct weaving *weaving, bool undo, struct weave_written *written);

/* Whether the clean text is another one than that into which the lines were woven: the file was
 * edited since. False when nothing is recorded. */
bool weave_edited(const struct weaving *weaving, const struct weave_file *file);

/* Writes the unified diff from the clean to the woven texts. */
void weave_diff(const struct weaving *weaving, FILE *out);

void weaving_free(struct weaving *weaving);

#endif
