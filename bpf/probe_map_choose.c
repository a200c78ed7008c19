/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"
#include "probe_map.h"

/* Has the program one function for each required row? */
static bool has_required(struct elf_file *file, const struct probe_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct probe_row *row = &map->rows[i];
        struct elf_function found[8];
        size_t count = row->symbol_count < 8 ? row->symbol_count : 8;
        bool has = false;
        if (!row->required)
            continue;
        if (elf_file_functions(file, (const char *const *)row->symbols, count, found))
            return false;
        for (size_t n = 0; n < count; n++)
            has |= found[n].address && !found[n].ambiguous;
        if (!has)
            return false;
    }
    return map->count > 0;
}

static int is_map(const struct dirent *entry)
{
    const char *suffix = strstr(entry->d_name, ".yaml");
    return suffix && suffix[5] == '\0';
}

/* What to look for in the maps of a directory. */
enum criterion { BY_BUILD_ID, BY_FUNCTIONS };

/* The newest map that the criterion fits; NULL when none does. One that cannot be read fits
 * nothing. */
static struct probe_map *look(const char *folder, struct elf_file *file, enum criterion criterion)
{
    struct dirent **entries;
    char build_id[ELF_BUILD_ID_SIZE];
    struct probe_map *found = NULL;
    int count = scandir(folder, &entries, is_map, versionsort);

    elf_file_build_id(file, build_id);
    for (int i = count; i-- > 0;) {
        char name[PATH_MAX];
        struct probe_map *map = NULL;
        if (!found &&
            snprintf(name, sizeof(name), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(name) &&
            probe_map_read(name, &map) == 0) {
            bool fits = criterion == BY_BUILD_ID ? probe_map_layout(map, build_id) != NULL
                                                 : has_required(file, map);
            if (fits)
                found = map;
            else
                probe_map_free(map);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return found;
}

int probe_map_choose(const char *directory, const char *program, const char *daemon,
                     const char *version, struct probe_map **map, bool *exact)
{
    char folder[PATH_MAX];
    struct elf_file *file;
    *map = NULL;
    *exact = false;
    if (snprintf(folder, sizeof(folder), "%s/%s", directory, daemon) >= (int)sizeof(folder))
        return err_set(ENAMETOOLONG, "%s: the directory's name is too long", directory);
    int error = elf_file_open(program, &file);
    if (error)
        return error;
    *map = look(folder, file, BY_BUILD_ID);
    *exact = *map != NULL;
    if (!*map)
        error = probe_map_find(directory, daemon, version[0] ? version : "unknown", map, exact);
    if (error == -ENOENT && (*map = look(folder, file, BY_FUNCTIONS)))
        error = 0;
    elf_file_close(file);
    return error;
}
