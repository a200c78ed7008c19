/* SPDX-License-Identifier: MIT */
/* Maps that are like another one: the same functions, where parameter types have other names. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "probe_map.h"
#include "probe_map_parts.h"

/* The length of the function's name in a mangled symbol (_ZN, lengths and names, E), without its
 * parameters; 0 when it is written in another way. */
static size_t name_length(const char *symbol)
{
    if (strncmp(symbol, "_ZN", 3) != 0)
        return 0;
    const char *at = symbol + 3;
    if (*at == 'K')
        at++;
    while (*at != 'E') {
        if (at[0] == 'C' && isdigit((unsigned char)at[1])) {
            at += 2;
            continue;
        }
        char *end;
        unsigned long length = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        if (length == 0 || length > strlen(end))
            return 0;
        at = end + length;
    }
    return (size_t)(at - symbol) + 1;
}

/* A further alternative of the row: the same name with any parameters. */
static int loosen(struct probe_row *row)
{
    size_t length = name_length(row->symbol);
    if (length == 0)
        return 0;
    char **grown = realloc(row->symbols, (row->symbol_count + 1) * sizeof(*grown));
    if (!grown)
        return err_no_memory();
    row->symbols = grown;
    row->symbol = grown[0];
    if (asprintf(&grown[row->symbol_count], "%.*s*", (int)length, row->symbol) < 0)
        return err_no_memory();
    row->symbol_count++;
    return 0;
}

int probe_map_take(struct probe_map *map, const char *like)
{
    char name[PATH_MAX];
    const char *slash = strrchr(map->file, '/');
    struct probe_map *other;
    if (strchr(like, '/') ||
        snprintf(name, sizeof(name), "%.*s%s.yaml", slash ? (int)(slash - map->file) + 1 : 0,
                 map->file, like) >= (int)sizeof(name))
        return err_set(EINVAL, "%s: `like: %s` is no version", map->file, like);
    int error = probe_map_read(name, &other);
    if (error)
        return err_prefix(error, "%s: like", map->file);
    map->rows = other->rows;
    map->count = other->count;
    map->classes = other->classes;
    map->class_count = other->class_count;
    other->rows = NULL;
    other->count = 0;
    other->classes = NULL;
    other->class_count = 0;
    probe_map_free(other);
    for (size_t i = 0; !error && i < map->count; i++)
        error = loosen(&map->rows[i]);
    return error;
}
