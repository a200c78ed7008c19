/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_TREE_H
#define OPTRAIL_WEAVE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The files of a source tree, whose links and whose record nobody has to trust: no symbolic link is
 * followed below the tree, neither at the end of a name nor on the way.
 */
struct weave_tree {
    int descriptor;
    const char *name; /* weak */
};

/* 0, or a negative errno with err_set. Close it after success. */
int weave_tree_open(const char *name, struct weave_tree *tree);
void weave_tree_close(struct weave_tree *tree);

/* Whether the name can only be that of a file below a tree. */
bool weave_tree_holds(const char *name);

/* Reads an ordinary file of at most `limit` bytes; *text is owned by the caller and ends with NUL.
 * 0, -ENOENT when it is not there, or another negative errno; with err_set. `mode` may be NULL. */
int weave_tree_read(const struct weave_tree *tree, const char *name, size_t limit, char **text,
                    size_t *size, mode_t *mode);

/* Writes a new file beside the named one, to the disk; *temporary is its name below the tree, owned
 * by the caller. 0, or a negative errno with err_set and nothing left behind. */
int weave_tree_write_beside(const struct weave_tree *tree, const char *name, const char *text,
                            size_t size, mode_t mode, char **temporary);

/* Gives the file beside it the name. */
int weave_tree_replace(const struct weave_tree *tree, const char *temporary, const char *name);

/* Removes the file; it is no error when it is not there. */
int weave_tree_remove(const struct weave_tree *tree, const char *name);

#endif
