/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "inputs.h"

#define BLOCK     65536
#define MOST_DEEP 16

static bool have_same_bytes(const char *one, const char *other)
{
    static char bytes[2][BLOCK];
    int files[2] = {open(one, O_RDONLY | O_CLOEXEC), open(other, O_RDONLY | O_CLOEXEC)};
    bool same = files[0] >= 0 && files[1] >= 0;
    ssize_t size = 1;

    while (same && size > 0) {
        size = read(files[0], bytes[0], BLOCK);
        same = size >= 0 && read(files[1], bytes[1], BLOCK) == size &&
               memcmp(bytes[0], bytes[1], (size_t)size) == 0;
    }
    for (int i = 0; i < 2; i++)
        if (files[i] >= 0)
            close(files[i]);
    return same;
}

static int is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static bool is_copy(const char *one, const char *other, int deep);

/* The other directory has files of the same names, each a copy. */
static bool have_same_files(const char *one, const char *other, int deep)
{
    struct dirent **left = NULL, **right = NULL;
    char paths[2][PATH_MAX];
    int count = scandir(one, &left, is_name, alphasort);
    int others = scandir(other, &right, is_name, alphasort);
    bool same = count > 0 && count == others && deep < MOST_DEEP;

    for (int i = 0; i < count && same; i++)
        same = strcmp(left[i]->d_name, right[i]->d_name) == 0;
    for (int i = 0; i < count && same; i++) {
        const char *name = left[i]->d_name;
        same = snprintf(paths[0], PATH_MAX, "%s/%s", one, name) < PATH_MAX &&
               snprintf(paths[1], PATH_MAX, "%s/%s", other, name) < PATH_MAX &&
               is_copy(paths[0], paths[1], deep + 1);
    }
    free_names(left, count > 0 ? count : 0);
    free_names(right, others > 0 ? others : 0);
    return same;
}

static bool is_copy(const char *one, const char *other, int deep)
{
    struct stat left, right;

    if (stat(one, &left) < 0 || stat(other, &right) < 0)
        return false;
    if (S_ISDIR(left.st_mode) && S_ISDIR(right.st_mode))
        return have_same_files(one, other, deep);
    if (!S_ISREG(left.st_mode) || !S_ISREG(right.st_mode) || left.st_size != right.st_size)
        return false;
    /* an empty index or stream says nothing; an input that is empty is somebody else's to refuse */
    return left.st_size == 0 ? deep > 0 : have_same_bytes(one, other);
}

int inputs_count_once(int count, char *const *names)
{
    int result = inputs_differ(count, names);
    for (int i = 0; result == 0 && i < count; i++)
        for (int j = 0; result == 0 && j < i; j++)
            if (is_copy(names[i], names[j], 0))
                result =
                    err_set(EINVAL, "%s is a copy of %s: it would count twice", names[i], names[j]);
    return result;
}
