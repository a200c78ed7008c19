/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "probe_map.h"

const char *probe_map_directory(void)
{
    static char directory[PATH_MAX];
    const char *given = getenv("OPTRAIL_MAPS");
    if (given && *given)
        return given;
    char program[PATH_MAX - 64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length > 0) {
        program[length] = '\0';
        char *slash = strrchr(program, '/');
        if (slash) {
            *slash = '\0';
            snprintf(directory, sizeof(directory), "%s/../share/optrail/maps", program);
            if (access(directory, R_OK) == 0)
                return directory;
        }
    }
    return OPTRAIL_SOURCE_MAPS;
}

/* "16.2.15" and "16.2.9" are of one release: the same up to the last dot. */
static bool same_release(const char *one, const char *other)
{
    const char *dot = strrchr(one, '.');
    return dot && strncmp(one, other, (size_t)(dot - one) + 1) == 0;
}

/* What the directory has for this release, in the order of version numbers. */
static char *newest_of_release(const char *directory, const char *version, char *list, size_t size)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, versionsort);
    char *newest = NULL;
    list[0] = '\0';
    for (int i = 0; i < count; i++) {
        char *suffix = strstr(entries[i]->d_name, ".yaml");
        if (suffix && suffix[5] == '\0') {
            *suffix = '\0';
            size_t used = strlen(list);
            snprintf(list + used, size - used, "%s%s", used ? ", " : "", entries[i]->d_name);
            if (same_release(entries[i]->d_name, version)) {
                free(newest);
                newest = strdup(entries[i]->d_name);
            }
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return newest;
}

int probe_map_find(const char *directory, const char *daemon, const char *version,
                   struct probe_map **map, bool *exact)
{
    *map = NULL;
    char folder[PATH_MAX], file[PATH_MAX + 64], list[512];
    snprintf(folder, sizeof(folder), "%s/%s", directory, daemon);
    char *newest = newest_of_release(folder, version, list, sizeof(list));
    snprintf(file, sizeof(file), "%s/%s.yaml", folder, version);
    *exact = strchr(version, '/') == NULL && access(file, F_OK) == 0;
    if (!*exact && !newest)
        return err_set(ENOENT, "no probe map for %s %s: %s has %s", daemon, version, folder,
                       list[0] ? list : "none");
    if (!*exact)
        snprintf(file, sizeof(file), "%s/%s.yaml", folder, newest);
    free(newest);
    return probe_map_read(file, map);
}
