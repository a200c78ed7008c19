/* SPDX-License-Identifier: MIT */
#include "trace_search.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"

/* Whether the trace is in the list already: it was named twice, or with a directory above it. */
static bool is_there(const struct trace_list *list, const char *path)
{
    struct stat status, other;

    if (stat(path, &status) < 0)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (stat(list->directories[i], &other) == 0 && status.st_dev == other.st_dev &&
            status.st_ino == other.st_ino)
            return true;
    return false;
}

static int add(struct trace_list *list, const char *path, size_t length)
{
    char **bigger = reallocarray(list->directories, list->count + 1, sizeof(*list->directories));

    if (!bigger)
        return err_no_memory();
    list->directories = bigger;
    bigger[list->count] = strndup(path, length);
    if (!bigger[list->count])
        return err_no_memory();
    if (is_there(list, bigger[list->count]))
        free(bigger[list->count]);
    else
        list->count++;
    return 0;
}

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* Takes what the walk has come to. */
static int visit(struct trace_list *list, const FTSENT *entry, bool *found)
{
    switch (entry->fts_info) {
    case FTS_F:
    case FTS_SL:
        /* the parent is the trace: its path is what stands before "/metadata" */
        if (entry->fts_level == 0 || strcmp(entry->fts_name, "metadata") != 0)
            return 0;
        *found = true;
        return add(list, entry->fts_path, (size_t)(entry->fts_pathlen - (int)strlen("/metadata")));
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        return err_set(entry->fts_errno, "%s: cannot be read: %s", entry->fts_path,
                       strerror(entry->fts_errno));
    default:
        return 0;
    }
}

int trace_search(const char *directory, struct trace_list *list)
{
    bool found = false;
    char *paths[] = {NULL, NULL};
    struct stat status;
    FTS *walk;
    FTSENT *entry;
    int result = 0;

    if (stat(directory, &status) < 0)
        return err_set(errno, "%s: %s: give a directory that holds a trace", directory,
                       strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return err_set(ENOTDIR, "%s: is a file: give the directory that holds the trace",
                       directory);
    paths[0] = strdup(directory);
    if (!paths[0])
        return err_no_memory();
    /* "trace/" and "trace" name the same trace in messages */
    for (size_t length = strlen(paths[0]); length > 1 && paths[0][length - 1] == '/'; length--)
        paths[0][length - 1] = '\0';
    walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!walk)
        result = err_set(errno, "%s: %s", directory, strerror(errno));
    while (result == 0 && (entry = fts_read(walk)))
        result = visit(list, entry, &found);
    if (walk)
        fts_close(walk);
    if (result == 0 && !found)
        result = err_set(ENODATA,
                         "%s: holds no trace (no file `metadata` in it or below it): give the "
                         "directory that the tracer wrote",
                         directory);
    free(paths[0]);
    return result;
}

void trace_list_free(struct trace_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->directories[i]);
    free(list->directories);
    *list = (struct trace_list){0};
}
