/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* Devices and pipes may be named twice: /dev/null holds nothing that could be lost. */
static bool find(const char *name, struct stat *status)
{
    return name && strcmp(name, "-") != 0 && stat(name, status) == 0 &&
           (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int inputs_differ(int count, char *const *names)
{
    struct stat one, other;

    for (int i = 0; i < count; i++) {
        if (!find(names[i], &one))
            continue;
        for (int j = 0; j < i; j++)
            if (find(names[j], &other) && is_same(&one, &other))
                return err_set(EINVAL, "%s is given twice%s%s: it would count twice", names[i],
                               strcmp(names[i], names[j]) != 0 ? ", also as " : "",
                               strcmp(names[i], names[j]) != 0 ? names[j] : "");
    }
    return 0;
}

/* Where a file is, or will be once it is written: without links, from the root on. */
static bool resolve(const char *file, char resolved[PATH_MAX])
{
    char copy[PATH_MAX], base[PATH_MAX];

    if (realpath(file, resolved))
        return true;
    if (snprintf(copy, sizeof(copy), "%s", file) >= (int)sizeof(copy))
        return false;
    snprintf(base, sizeof(base), "%s", file);
    const char *name = basename(base);
    if (!realpath(dirname(copy), resolved))
        return false;
    size_t used = strlen(resolved);
    return (size_t)snprintf(resolved + used, PATH_MAX - used, "%s%s", used > 1 ? "/" : "", name) <
           PATH_MAX - used;
}

/* Goes up to the directory around; false: it is the root already. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || slash[1] == '\0')
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* Whether the file is beside or below the metadata of a trace, and that is read as `input`. */
static bool is_in_trace(const char *file, const struct stat *input)
{
    char path[PATH_MAX], metadata[PATH_MAX + 16];
    struct stat status;

    if (!resolve(file, path))
        return false;
    const char *slash = strrchr(path, '/');
    bool traced = slash && strcmp(slash, "/metadata") == 0;
    while (go_up(path)) {
        snprintf(metadata, sizeof(metadata), "%s/metadata", path);
        traced = traced || access(metadata, F_OK) == 0;
        if (traced && stat(path, &status) == 0 && is_same(&status, input))
            return true;
    }
    return false;
}

int inputs_keep(int count, char *const *names, const char *output)
{
    struct stat written, read;

    if (!output || strcmp(output, "-") == 0)
        return 0;
    for (int i = 0; i < count; i++) {
        if (!find(names[i], &read))
            continue;
        if (find(output, &written) && is_same(&written, &read))
            return err_set(EINVAL, "%s is read: name another file to write to", output);
        if (S_ISDIR(read.st_mode) && is_in_trace(output, &read))
            return err_set(EINVAL,
                           "%s would be a part of the trace that is read: name a file elsewhere",
                           output);
    }
    return 0;
}

int outputs_differ(int count, const char *const *outputs, const char *const *options)
{
    char one[PATH_MAX], other[PATH_MAX];
    struct stat status;

    for (int i = 0; i < count; i++) {
        if (!outputs[i] || strcmp(outputs[i], "-") == 0 || !resolve(outputs[i], one) ||
            (stat(one, &status) == 0 && !S_ISREG(status.st_mode)))
            continue;
        for (int j = 0; j < i; j++)
            if (outputs[j] && strcmp(outputs[j], "-") != 0 && resolve(outputs[j], other) &&
                strcmp(one, other) == 0)
                return err_set(EINVAL, "%s and %s name the same file: %s", options[j], options[i],
                               outputs[i]);
    }
    return 0;
}
