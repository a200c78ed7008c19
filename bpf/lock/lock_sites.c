/* SPDX-License-Identifier: MIT */
#include "lock_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "libc_code.h"

static int add_row(struct lock_sites *sites, uint64_t counter, struct lock_site site)
{
    if (sites->count == sites->capacity) {
        size_t capacity = sites->capacity ? 2 * sites->capacity : 256;
        struct lock_site_row *rows = realloc(sites->rows, capacity * sizeof(*rows));
        if (!rows)
            return err_no_memory();
        sites->rows = rows;
        sites->capacity = capacity;
    }
    sites->rows[sites->count++] = (struct lock_site_row){counter, site};
    return 0;
}

/* `bias`: what is added to the file's addresses in the process. */
static int add_file(struct lock_sites *sites, const struct libc_code *code, uint64_t bias)
{
    int error = 0;
    for (size_t i = 0; i < code->futex_count && !error; i++) {
        size_t at = libc_code_function(code, code->futexes[i] - 1);
        if (at == SIZE_MAX)
            continue;
        const struct code_function *function = &code->functions[at];
        struct lock_site site = {.class = function->class ? function->class : LOCK_SITE_LIBC};
        uint16_t frame = libc_code_frame(code, code->futexes[i]);
        if (function->mixed && frame != 0xffff) {
            site.shared = 1;
            site.frame = frame;
        }
        error = add_row(sites, bias + code->futexes[i], site);
        sites->futex_sites++;
    }
    for (size_t i = 0; i < code->call_count && !error; i++) {
        const struct code_call *call = &code->calls[i];
        if (call->jump || !code->functions[call->to].calls_kernel)
            continue;
        uint8_t class = code->functions[call->from].class;
        if (class)
            error = add_row(sites, bias + call->behind, (struct lock_site){.class = class});
    }
    sites->files++;
    return error;
}

static bool is_libc(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "libpthread", 10) == 0;
}

static int add_mapping(pid_t pid, const struct process_map *map, struct lock_sites *sites)
{
    struct elf_image image;
    struct libc_code code = {0};
    uint64_t bias;
    int file = process_map_open(pid, map);
    if (file < 0)
        return 0; /* unmapped meanwhile, or not for us to see */
    int error = elf_image_open(&image, file);
    if (!error)
        error = elf_image_bias(&image, map->start, map->offset, &bias)
                    ? libc_code_read(&image, &code)
                    : -EINVAL;
    if (error == -ENOMEM)
        err_no_memory();
    else if (error)
        error = 0; /* nothing can be learned from it */
    else
        error = add_file(sites, &code, bias);
    libc_code_free(&code);
    elf_image_close(&image);
    return error;
}

/* Looks through the mappings of libc, or through the first one, the program's own. */
static int look_through(const struct process_maps *maps, bool libc, struct lock_sites *sites)
{
    int error = 0;
    for (size_t i = 0; i < maps->count && !error; i++) {
        const struct process_map *map = &maps->maps[i];
        if (map->path[0] != '/' || (libc && !is_libc(map->path)))
            continue;
        error = add_mapping(maps->pid, map, sites);
        if (!libc)
            break;
    }
    return error;
}

int lock_sites_find(const struct process_maps *maps, struct lock_sites *sites)
{
    *sites = (struct lock_sites){0};
    int error = look_through(maps, true, sites);
    if (!error && sites->futex_sites == 0)
        error = look_through(maps, false, sites);
    if (error)
        lock_sites_free(sites);
    return error;
}

void lock_sites_free(struct lock_sites *sites)
{
    free(sites->rows);
    *sites = (struct lock_sites){0};
}
