/* SPDX-License-Identifier: MIT */
#include "inputs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"

/* Devices and pipes may be named twice: /dev/null holds nothing that could be lost. */
static bool find(const char *name, struct stat *status)
{
    return strcmp(name, "-") != 0 && stat(name, status) == 0 &&
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

int inputs_keep(int count, char *const *names, const char *output)
{
    struct stat written, read;

    if (!output || !find(output, &written))
        return 0;
    for (int i = 0; i < count; i++)
        if (find(names[i], &read) && is_same(&written, &read))
            return err_set(EINVAL, "%s is read: name another file to write to", output);
    return 0;
}
