/* SPDX-License-Identifier: MIT */
#include "lock_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A mapping of code, as /proc/PID/maps has it. */
struct mapping {
    uint64_t begin, end, offset;
    char path[4096];
};

static bool read_mapping(const char *line, struct mapping *mapping)
{
    char rights[8];
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapping->begin,
               &mapping->end, rights, &mapping->offset, &at) != 4 ||
        rights[2] != 'x' || at == 0 || line[at] != '/')
        return false;
    snprintf(mapping->path, sizeof(mapping->path), "%s", line + at);
    mapping->path[strcspn(mapping->path, "\n")] = 0;
    return true;
}

static bool is_libc(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "libpthread", 10) == 0;
}

/* Opens the file as it is mapped, also when it has been deleted or replaced. */
static int open_mapping(pid_t pid, const struct mapping *mapping)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->begin,
             mapping->end);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What is added to the addresses in the file's headers. */
static bool find_bias(const struct elf_image *image, const struct mapping *mapping, uint64_t *bias)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t page = segment->p_offset & ~UINT64_C(0xfff);
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && mapping->offset >= page &&
            mapping->offset < segment->p_offset + segment->p_filesz) {
            *bias = mapping->begin - (segment->p_vaddr - segment->p_offset + mapping->offset);
            return true;
        }
    }
    return false;
}

static int add_mapping(pid_t pid, const struct mapping *mapping, struct lock_sites *sites)
{
    struct elf_image image;
    struct libc_code code = {0};
    uint64_t bias;
    int file = open_mapping(pid, mapping);
    if (file < 0)
        return 0; /* unmapped meanwhile, or not for us to see */
    int error = elf_image_open(&image, file);
    if (!error)
        error = find_bias(&image, mapping, &bias) ? libc_code_read(&image, &code) : -EINVAL;
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
static int look_through(pid_t pid, bool libc, struct lock_sites *sites)
{
    char path[64], line[4352];
    struct mapping mapping;
    int error = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return err_set(errno == ENOENT ? ESRCH : errno, "cannot read the mappings of pid %d: %s",
                       pid, strerror(errno == ENOENT ? ESRCH : errno));
    while (!error && fgets(line, sizeof(line), maps)) {
        if (!read_mapping(line, &mapping) || (libc && !is_libc(mapping.path)))
            continue;
        error = add_mapping(pid, &mapping, sites);
        if (!libc)
            break;
    }
    fclose(maps);
    return error;
}

int lock_sites_find(pid_t pid, struct lock_sites *sites)
{
    *sites = (struct lock_sites){0};
    int error = look_through(pid, true, sites);
    if (!error && sites->futex_sites == 0)
        error = look_through(pid, false, sites);
    if (error)
        lock_sites_free(sites);
    return error;
}

void lock_sites_free(struct lock_sites *sites)
{
    free(sites->rows);
    *sites = (struct lock_sites){0};
}
