/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACE_SEARCH_H
#define OPTRAIL_TRACE_SEARCH_H

#include <stddef.h>

/* Directories that hold a CTF trace (a file `metadata`). */
struct trace_list {
    size_t count;
    char **directories; /* owned */
};

/* Adds the traces at and below `directory`, in name order; a trace that is in the list already is
 * not added again, and symbolic links below the directory are not followed. -ENOENT, -ENOTDIR,
 * -ENODATA (there is none) and so on, with the message. */
int trace_search(const char *directory, struct trace_list *list);
void trace_list_free(struct trace_list *list);

#endif
