/* SPDX-License-Identifier: MIT */
#include "probe_levels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"
#include "probe_functions.h"

/* The addresses of the rows' functions; 0: none that can be probed. */
static int find_rows(struct elf_file *file, const struct probe_map *map, uint64_t *addresses)
{
    const struct probe_row **rows = calloc(map->count, sizeof(const struct probe_row *));
    struct elf_function *functions = calloc(map->count, sizeof(*functions));
    int error = rows && functions ? 0 : err_no_memory();
    for (size_t i = 0; !error && i < map->count; i++)
        rows[i] = &map->rows[i];
    if (!error)
        error = probe_functions_find(file, rows, map->count, functions);
    for (size_t i = 0; !error && i < map->count; i++)
        if (!functions[i].ambiguous && !functions[i].indirect)
            addresses[i] = functions[i].address;
    free(rows);
    free(functions);
    return error;
}

/* One probe serves all rows of a function. */
static size_t count_level(const struct probe_map *map, const struct probe_layout *layout,
                          const uint64_t *addresses, enum probe_detail detail, uint64_t *seen)
{
    size_t count = 0;
    for (size_t i = 0; i < map->count; i++) {
        const struct probe_row *row = &map->rows[i];
        struct uprobe_site site;
        bool known = false;
        if (!(row->details & 1u << detail) || probe_row_is_needless(row, layout))
            continue;
        if (!addresses[i] || probe_row_site(row, layout, &site)) {
            if (row->required)
                return 0;
            continue;
        }
        for (size_t j = 0; j < count; j++)
            known = known || seen[j] == addresses[i];
        if (!known)
            seen[count++] = addresses[i];
    }
    return count;
}

static int read_map(const struct target *target, const struct probe_map *map,
                    size_t probes[DETAIL_COUNT])
{
    struct elf_file *file = NULL;
    uint64_t *addresses = calloc(2 * map->count + 1, sizeof(*addresses));
    char build_id[ELF_BUILD_ID_SIZE];
    int error = addresses ? elf_file_open(target->program, &file) : err_no_memory();
    if (!error)
        error = find_rows(file, map, addresses);
    if (!error) {
        elf_file_build_id(file, build_id);
        const struct probe_layout *layout = probe_map_layout(map, build_id);
        for (int detail = DETAIL_BASIC; detail < DETAIL_COUNT; detail++)
            probes[detail] = count_level(map, layout, addresses, detail, addresses + map->count);
    }
    elf_file_close(file);
    free(addresses);
    return error;
}

int probe_levels_read(const struct target *target, size_t probes[DETAIL_COUNT])
{
    struct probe_map *map = NULL;
    bool exact;
    memset(probes, 0, DETAIL_COUNT * sizeof(*probes));
    for (int detail = DETAIL_BASIC; target->usdt_probes && detail < DETAIL_COUNT; detail++)
        probes[detail] = (size_t)target->usdt_probes;
    if (target->usdt_probes)
        return 0;
    int error = probe_map_choose(probe_map_directory(), target->program, target->kind,
                                 target->version, &map, &exact);
    if (!error)
        error = read_map(target, map, probes);
    probe_map_free(map);
    return error;
}
