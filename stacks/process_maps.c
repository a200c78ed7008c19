/* SPDX-License-Identifier: MIT */
#include "process_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "err.h"

enum { VDSO_MAX = 1 << 20 };

static bool parse(char *line, struct process_map *map)
{
    char permissions[5] = "";
    int path = 0;
    *map = (struct process_map){0};
    if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &map->start, &map->end, permissions,
               &map->offset, &map->device_major, &map->device_minor, &map->inode, &path) < 7)
        return false;
    line[strcspn(line, "\n")] = '\0';
    map->path = line + path;
    return permissions[2] == 'x' && map->start < map->end;
}

static bool same_file(const struct process_map *a, const struct process_map *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor && strcmp(a->path, b->path) == 0;
}

/* What is known of a mapping goes over to its new row. */
static void inherit(struct process_maps *old, struct process_map *map)
{
    struct process_map *before = process_maps_find(old, map->start);
    if (!before || !same_file(before, map))
        return;
    map->module = before->module;
    map->bias = before->bias;
    map->tried = before->module != NULL; /* a failure may pass */
    before->module = NULL;
}

static int add(struct process_maps *maps, size_t *capacity, const struct process_map *map)
{
    if (maps->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 64;
        void *grown = realloc(maps->maps, more * sizeof(*maps->maps));
        if (!grown)
            return err_no_memory();
        maps->maps = grown;
        *capacity = more;
    }
    struct process_map copy = *map;
    copy.path = strdup(map->path);
    if (!copy.path)
        return err_no_memory();
    maps->maps[maps->count++] = copy;
    return 0;
}

static int read_lines(FILE *file, struct process_maps *maps)
{
    char *line = NULL;
    size_t line_size = 0, capacity = 0;
    int result = 0;
    while (result == 0 && getline(&line, &line_size, file) > 0) {
        struct process_map map;
        if (parse(line, &map))
            result = add(maps, &capacity, &map);
    }
    if (result == 0 && ferror(file))
        result = err_set(errno, "cannot read the mappings of process %d: %s", maps->pid,
                         strerror(errno));
    free(line);
    return result;
}

int process_maps_read(struct process_maps *maps, pid_t pid)
{
    char path[64];
    struct process_maps now = {.pid = pid};

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? err_set(ESRCH, "there is no process %d", pid)
                               : err_set(errno, "cannot read the mappings of process %d: %s", pid,
                                         strerror(errno));
    int result = read_lines(file, &now);
    fclose(file);
    if (result == 0 && now.count == 0)
        result = err_set(ESRCH, "process %d has no code: it is ending, or a kernel thread", pid);
    if (result < 0) {
        process_maps_free(&now);
        return result;
    }
    for (size_t i = 0; i < now.count; i++)
        inherit(maps, &now.maps[i]);
    process_maps_free(maps);
    *maps = now;
    return 0;
}

void process_maps_free(struct process_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        stack_module_release(maps->maps[i].module);
        free(maps->maps[i].path);
    }
    free(maps->maps);
    *maps = (struct process_maps){0};
}

struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (maps->maps[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < maps->maps[low - 1].end ? &maps->maps[low - 1] : NULL;
}

/* Whether the map's file lies at the path. The device may differ: file systems with subvolumes show
 * another one there. */
static bool lies_at(const char *path, const struct process_map *map)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_ino == map->inode;
}

int process_map_open(pid_t pid, const struct process_map *map)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, map->start, map->end);
    int fd = elf_image_open_path(path);
    if (fd >= 0 || map->path[0] != '/')
        return fd;
    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, map->path);
    fd = lies_at(path, map) ? elf_image_open_path(path) : -1;
    return fd < 0 && lies_at(map->path, map) ? elf_image_open_path(map->path) : fd;
}

/* Code that the kernel maps: it is in the process's memory alone. */
static struct stack_module *load_vdso(pid_t pid, const struct process_map *map)
{
    size_t size = map->end - map->start;
    uint8_t *bytes = size <= VDSO_MAX ? malloc(size) : NULL;
    struct iovec local = {.iov_base = bytes, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)map->start, .iov_len = size}; // NOLINT
    if (!bytes)
        return NULL;
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)size) {
        free(bytes);
        return NULL;
    }
    return stack_module_of_memory(bytes, size, map->path);
}

/* Named as it was called before it was deleted. */
static struct stack_module *module_of_file(int fd, const char *path)
{
    static const char mark[] = " (deleted)";
    char name[NAME_MAX + sizeof(mark)];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
    size_t length = strlen(name);
    if (length >= sizeof(mark) && strcmp(name + length - (sizeof(mark) - 1), mark) == 0)
        name[length - (sizeof(mark) - 1)] = '\0';
    return stack_module_of_file(fd, name);
}

bool process_map_load(pid_t pid, struct process_map *map)
{
    if (map->tried)
        return false;
    map->tried = true;
    if (strcmp(map->path, "[vdso]") == 0) {
        map->module = load_vdso(pid, map);
    } else if (map->inode != 0) {
        int fd = process_map_open(pid, map);
        if (fd >= 0)
            map->module = module_of_file(fd, map->path);
    }
    if (map->module && !elf_image_bias(&map->module->image, map->start, map->offset, &map->bias)) {
        /* not code by its own headers: mapped by hand, or another file by now */
        stack_module_release(map->module);
        map->module = NULL;
    }
    return true;
}
