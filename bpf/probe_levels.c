/* SPDX-License-Identifier: MIT */
#include "probe_levels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"

/* The address of the first of the row's symbols that the program has; 0: none. */
static int find_row(struct elf_file *file, const struct probe_row *row, uint64_t *address)
{
    int error = 0;
    *address = 0;
    for (size_t i = 0; !error && !*address && i < row->symbol_count; i++) {
        struct elf_function function = {0};
        const char *symbol = row->symbols[i];
        error = elf_file_functions(file, &symbol, 1, &function);
        if (!error && !function.ambiguous && !function.indirect)
            *address = function.address;
    }
    return error;
}

/* The rows' functions: all first symbols in one walk through the tables, the few others one by one.
 */
static int find_rows(struct elf_file *file, const struct probe_map *map, uint64_t *addresses)
{
    const char **symbols = calloc(map->count, sizeof(*symbols));
    struct elf_function *functions = calloc(map->count, sizeof(*functions));
    int error = symbols && functions ? 0 : err_no_memory();
    for (size_t i = 0; !error && i < map->count; i++)
        symbols[i] = map->rows[i].symbol;
    if (!error)
        error = elf_file_functions(file, symbols, map->count, functions);
    for (size_t i = 0; !error && i < map->count; i++) {
        if (!functions[i].ambiguous && !functions[i].indirect)
            addresses[i] = functions[i].address;
        if (!addresses[i] && map->rows[i].symbol_count > 1)
            error = find_row(file, &map->rows[i], &addresses[i]);
    }
    free(symbols);
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
