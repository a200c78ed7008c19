/* SPDX-License-Identifier: MIT */
#include "trace_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* Hidden files are the only ones that babeltrace2 does not take for streams. */
#define MARK ".optrail-recording"

#define STREAM_MAGIC 0xc1fc1fc1u
#define INDEX_MAGIC  0xc1dcf1c1u /* of the index files of LTTng, which are big-endian */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

void trace_directory_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int trace_directory_add(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_set(errno, "%s: cannot be made: %s", path, strerror(errno));
    return 0;
}

/* The directories above. */
static int make_parents(const char *path)
{
    char *copy = strdup(path);
    int result = 0;

    if (!copy)
        return err_no_memory();
    for (char *slash = strchr(copy + 1, '/'); result == 0 && slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            result = err_set(errno, "%s: cannot be made: %s", copy, strerror(errno));
        *slash = '/';
    }
    free(copy);
    return result;
}

static bool is_empty(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    bool empty = directory != NULL;

    while (directory && empty && (entry = readdir(directory)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory)
        closedir(directory);
    return empty;
}

static char strange[PATH_MAX]; /* the walk below hands nothing on; "": all is as it should be */

/* A part of a recording: metadata, streams and their indexes (CTF 1.8: by their magic numbers; what
 * has not been written to yet is empty), and directories. */
static int check_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    const char *name = path + place->base;
    uint32_t magic = 0;
    int file;

    if (type == FTW_D || type == FTW_DP || strcmp(name, MARK) == 0 || strcmp(name, "metadata") == 0)
        return 0;
    if (type == FTW_F && status->st_size == 0)
        return 0;
    if (type == FTW_F && (file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) >= 0) {
        if (read(file, &magic, sizeof(magic)) != (ssize_t)sizeof(magic))
            magic = 0;
        close(file);
    }
    if (magic == STREAM_MAGIC || magic == INDEX_MAGIC)
        return 0;
    snprintf(strange, sizeof(strange), "%s", path);
    return 1;
}

static int refuse_or_clear(const char *path, bool force)
{
    char mark[PATH_MAX];
    struct stat status;

    if (lstat(path, &status) < 0 || (S_ISDIR(status.st_mode) && is_empty(path)))
        return 0;
    if (snprintf(mark, sizeof(mark), "%s/%s", path, MARK) >= (int)sizeof(mark))
        return err_set(ENAMETOOLONG, "%s: the path is too long", path);
    bool ours = S_ISDIR(status.st_mode) && access(mark, F_OK) == 0;
    if (!ours)
        return err_set(EEXIST,
                       "%s: is there already, and is no recording of optrail: choose another name",
                       path);
    if (!force)
        return err_set(EEXIST,
                       "%s: is there already: choose another name, or --force to replace this "
                       "recording",
                       path);
    strange[0] = '\0';
    if (nftw(path, check_entry, 16, FTW_PHYS | FTW_MOUNT) != 0)
        return err_set(EEXIST,
                       "%s: is no part of a recording: move it away, for --force would remove it",
                       *strange ? strange : path);
    trace_directory_remove(path);
    return 0;
}

int trace_directory_make(const char *path, bool force)
{
    char mark[PATH_MAX];
    int file, result = refuse_or_clear(path, force);

    if (result == 0)
        result = make_parents(path);
    if (result == 0)
        result = trace_directory_add(path);
    if (result < 0)
        return result;
    if (snprintf(mark, sizeof(mark), "%s/%s", path, MARK) >= (int)sizeof(mark))
        return err_set(ENAMETOOLONG, "%s: the path is too long", path);
    /* two recordings that begin at once: one of them makes it */
    file = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0)
        return err_set(errno, "%s: cannot be written: %s", mark, strerror(errno));
    close(file);
    return 0;
}
