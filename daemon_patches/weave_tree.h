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

/* What a file that takes another one's place keeps. */
struct weave_access {
    mode_t mode;
    uid_t owner;
    gid_t group;
};

/* 0, or a negative errno with err_set. Close it after success. */
int weave_tree_open(const char *name, struct weave_tree *tree);
void weave_tree_close(struct weave_tree *tree);

/* Until the tree is closed no other process can have this lock. -EBUSY with err_set: one has it. A
 * file system that knows no locks gives it to all. */
int weave_tree_lock(const struct weave_tree *tree);

/* Whether the name can only be that of a file below a tree. */
bool weave_tree_holds(const char *name);

/* Reads an ordinary file of at most `limit` bytes; *text is owned by the caller and ends with NUL.
 * 0, -ENOENT when it is not there, or another negative errno; with err_set. `access` may be NULL.
 */
int weave_tree_read(const struct weave_tree *tree, const char *name, size_t limit, char **text,
                    size_t *size, struct weave_access *access);

/* Writes a new file beside the named one, to the disk; *temporary is its name below the tree, owned
 * by the caller. `access` NULL: anybody may read it, and it belongs to whom the tree belongs to, if
 * that can be. 0; 1: it is written, but could not be given to its owner or group; or a negative
 * errno with err_set and nothing left behind. */
int weave_tree_write_beside(const struct weave_tree *tree, const char *name, const char *text,
                            size_t size, const struct weave_access *access, char **temporary);

/* Removes what weave_tree_write_beside left beside the file in a process that was killed, and adds
 * how many to *count. The lock is held: none of these is in use. 0, or a negative errno with
 * err_set.
 */
int weave_tree_remove_strays(const struct weave_tree *tree, const char *name, size_t *count);

/* Gives the file beside it the name. */
int weave_tree_replace(const struct weave_tree *tree, const char *temporary, const char *name);

/* Removes the file; it is no error when it is not there. */
int weave_tree_remove(const struct weave_tree *tree, const char *name);

#endif
