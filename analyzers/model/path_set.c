/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "path_private.h"

int path_set_add(struct path_set *set, struct path *path)
{
    struct path **paths = realloc(set->paths, (set->count + 1) * sizeof(*paths));
    if (!paths) {
        path_free(path);
        return err_no_memory();
    }
    set->paths = paths;
    paths[set->count++] = path;
    return 0;
}

void path_set_free(struct path_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        path_free(set->paths[i]);
    free(set->paths);
    *set = (struct path_set){0};
}

static int is_path_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

int path_set_read(const char *directory, struct path_set *set)
{
    struct dirent **entries;
    *set = (struct path_set){0};
    int count = scandir(directory, &entries, is_path_file, alphasort);
    if (count < 0)
        return err_set(errno, "%s: cannot read the directory of path files: %s", directory,
                       strerror(errno));
    int rc = count ? 0
                   : err_set(ENOENT,
                             "%s: no path files (*.yaml) here: set OPTRAIL_PATHS or use "
                             "--path FILE",
                             directory);
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        struct path *path;
        if (rc == 0 && snprintf(file, sizeof(file), "%s/%s", directory, entries[i]->d_name) >=
                           (int)sizeof(file))
            rc = err_set(ENAMETOOLONG, "%s: the name of a path file here is too long", directory);
        if (rc == 0)
            rc = path_read(file, &path);
        if (rc == 0)
            rc = path_set_add(set, path);
        free(entries[i]);
    }
    free(entries);
    if (rc < 0)
        path_set_free(set);
    return rc;
}

static bool is_directory(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

int path_set_open(const char *name, struct path_set *set)
{
    struct path *path;
    if (!name || is_directory(name))
        return path_set_read(name ? name : path_default_directory(), set);
    *set = (struct path_set){0};
    int rc = path_read(name, &path);
    return rc == 0 ? path_set_add(set, path) : rc;
}

const char *path_default_directory(void)
{
    static char beside[PATH_MAX];
    const char *environment = getenv("OPTRAIL_PATHS");
    if (environment && *environment)
        return environment;
    /* an installation that was moved: PREFIX/bin/optrail and PREFIX/share/optrail/paths */
    ssize_t length = readlink("/proc/self/exe", beside, sizeof(beside) - 32);
    if (length > 0) {
        beside[length] = '\0';
        char *slash = strrchr(beside, '/');
        if (slash) {
            static const char paths[] = "/../share/optrail/paths";
            memcpy(slash, paths, sizeof(paths));
            if (is_directory(beside))
                return beside;
        }
    }
    return is_directory(OPTRAIL_INSTALL_PATHS) ? OPTRAIL_INSTALL_PATHS : OPTRAIL_SOURCE_PATHS;
}

static bool meets(const struct path_type *type, const struct path_op *op)
{
    if (!type->any_start_type && type->start_type != op->start_type)
        return false;
    if (type->bytes_in >= 0 && (op->bytes_in > 0) != type->bytes_in)
        return false;
    if (type->bytes_out >= 0 && (op->bytes_out > 0) != type->bytes_out)
        return false;
    for (size_t i = 0; i < (POINT_COUNT + 63) / 64; i++)
        if ((type->passes[i] & op->seen[i]) != type->passes[i])
            return false;
    return true;
}

bool path_set_match(const struct path_set *set, const struct path_op *op, struct path_match *match)
{
    int best = -1;
    for (size_t i = 0; i < set->count; i++) {
        const struct path *path = set->paths[i];
        for (size_t j = 0; j < path->type_count && !path->saved; j++) {
            const struct path_type *type = &path->types[j];
            int conditions = type->passes_count + !type->any_start_type + (type->bytes_in >= 0) +
                             (type->bytes_out >= 0);
            if (conditions > best && meets(type, op)) {
                best = conditions;
                *match = (struct path_match){path, type};
            }
        }
    }
    return best >= 0;
}
