/* SPDX-License-Identifier: MIT */
#include "libunwind_steps.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

/* Exported by libunwind for those who find tables themselves. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
                                              unw_dyn_info_t *table, unw_proc_info_t *info,
                                              int need, void *context);

/* What one step may read: an expression that turns in a circle ends there. A search in the table
 * takes some 50 words, a function's instructions at most some hundred. */
enum { READS_MAX = 100000, CACHE_SIZE = 4096, TABLE_AT = 12, ENTRY_SIZE = 8 };

struct libunwind_space {
    unw_addr_space_t space;
    unw_cursor_t cursor;
    struct process_maps *maps;
    const struct stack_snapshot *snapshot;
    unsigned reads;
    /* why something could not be had in the current step */
    bool no_module, no_row, beyond, fault;
};

static int read_memory(unw_addr_space_t unused, unw_word_t address, unw_word_t *value, int write,
                       void *context)
{
    (void)unused;
    struct libunwind_space *space = context;
    const struct stack_snapshot *snapshot = space->snapshot;
    const uint64_t bottom = snapshot->registers[STACK_RSP];

    *value = 0;
    if (write || ++space->reads > READS_MAX) {
        space->fault = true;
        return -UNW_EINVAL;
    }
    if (address >= bottom && address - bottom < snapshot->size &&
        snapshot->size - (address - bottom) >= sizeof(*value)) {
        memcpy(value, snapshot->stack + (address - bottom), sizeof(*value));
        return 0;
    }
    /* .eh_frame lies beside the code, in the range of the same module */
    for (size_t i = 0; i < space->maps->count; i++) {
        const struct process_map *map = &space->maps->maps[i];
        const struct stack_module *module = map->module;
        if (module && !module->bad &&
            address - map->bias - module->low < module->high - module->low) {
            *value = stack_module_word(module, address - map->bias);
            return 0;
        }
    }
    if (address - bottom < SNAPSHOT_REACH)
        space->beyond = true;
    else
        space->fault = true;
    return -UNW_EINVAL;
}

static int access_register(unw_addr_space_t unused, unw_regnum_t number, unw_word_t *value,
                           int write, void *context)
{
    (void)unused;
    const struct libunwind_space *space = context;
    if (write || number < 0 || number >= STACK_REGISTERS)
        return -UNW_EBADREG;
    *value = space->snapshot->registers[number]; /* x86-64's numbers are DWARF's */
    return 0;
}

static int find_info(unw_addr_space_t handle, unw_word_t ip, unw_proc_info_t *info, int need,
                     void *context)
{
    struct libunwind_space *space = context;
    struct process_map *map = process_maps_find(space->maps, ip);
    if (map)
        process_map_load(space->maps->pid, map);
    const struct stack_module *module = map ? map->module : NULL;
    if (!module) {
        space->no_module = true;
        return -UNW_ENOINFO;
    }
    if (module->header_entries == 0 || !module->eh_frame) {
        space->no_row = true;
        return -UNW_ENOINFO;
    }
    unw_dyn_info_t table = {
        .start_ip = map->bias + module->low,
        .end_ip = map->bias + module->high,
        .format = UNW_INFO_FORMAT_REMOTE_TABLE,
        .u.rti.segbase = map->bias + module->header_address,
        .u.rti.table_data = map->bias + module->header_address + TABLE_AT,
        .u.rti.table_len = (uint64_t)module->header_entries * ENTRY_SIZE / sizeof(unw_word_t),
    };
    int result = UNW_OBJ(dwarf_search_unwind_table)(handle, ip, &table, info, need, context);
    if (result < 0)
        space->no_row = true;
    return result;
}

static void put_info(unw_addr_space_t handle, unw_proc_info_t *info, void *context)
{
    (void)handle;
    (void)info;
    (void)context;
}

/* libunwind dictates these types. */
// NOLINTBEGIN(readability-non-const-parameter)
static int no_dynamic_list(unw_addr_space_t handle, unw_word_t *list, void *context)
{
    (void)handle;
    (void)list;
    (void)context;
    return -UNW_ENOINFO;
}

static int no_float(unw_addr_space_t handle, unw_regnum_t number, unw_fpreg_t *value, int write,
                    void *context)
{
    (void)handle;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t handle, unw_cursor_t *cursor, void *context)
{
    (void)handle;
    (void)cursor;
    (void)context;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t handle, unw_word_t ip, char *name, size_t size,
                   unw_word_t *offset, void *context)
{
    (void)handle;
    (void)ip;
    (void)name;
    (void)size;
    (void)offset;
    (void)context;
    return -UNW_ENOINFO;
}

// NOLINTEND(readability-non-const-parameter)

struct libunwind_space *libunwind_space_new(struct process_maps *maps, bool cache)
{
    static unw_accessors_t accessors = {
        .find_proc_info = find_info,
        .put_unwind_info = put_info,
        .get_dyn_info_list_addr = no_dynamic_list,
        .access_mem = read_memory,
        .access_reg = access_register,
        .access_fpreg = no_float,
        .resume = no_resume,
        .get_proc_name = no_name,
    };
    struct libunwind_space *space = calloc(1, sizeof(*space));
    if (!space)
        return NULL;
    space->maps = maps;
    space->space = unw_create_addr_space(&accessors, 0);
    if (!space->space) {
        free(space);
        return NULL;
    }
    unw_set_caching_policy(space->space, cache ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
    if (cache)
        unw_set_cache_size(space->space, CACHE_SIZE, 0);
    return space;
}

void libunwind_space_free(struct libunwind_space *space)
{
    if (!space)
        return;
    unw_destroy_addr_space(space->space);
    free(space);
}

void libunwind_space_flush(struct libunwind_space *space)
{
    if (space)
        unw_flush_cache(space->space, 0, 0);
}

bool libunwind_begin(struct libunwind_space *space, const struct stack_snapshot *snapshot)
{
    space->snapshot = snapshot;
    space->reads = 0;
    return unw_init_remote(&space->cursor, space->space, space) == 0;
}

bool libunwind_register(struct libunwind_space *space, enum stack_register which, uint64_t *value)
{
    unw_word_t word = 0;
    bool good = unw_get_reg(&space->cursor, (unw_regnum_t)which, &word) == 0;
    *value = good ? word : 0;
    return good;
}

bool libunwind_step(struct libunwind_space *space, enum unwind_end *end)
{
    space->reads = 0;
    space->no_module = space->no_row = space->beyond = space->fault = false;
    int result = unw_step(&space->cursor);
    /* without a row libunwind guesses by rbp: that is not what we ask it for */
    if (space->no_module)
        *end = UNWIND_NO_MODULE;
    else if (space->no_row)
        *end = UNWIND_NO_ROW;
    else if (result == 0)
        *end = UNWIND_COMPLETE;
    else if (result == -UNW_EBADFRAME)
        *end = UNWIND_STUCK;
    else if (result < 0)
        *end = space->beyond && !space->fault ? UNWIND_SNAPSHOT : UNWIND_FAULT;
    else
        return true;
    return false;
}
