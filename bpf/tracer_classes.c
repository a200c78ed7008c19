/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"
#include "tracer_internal.h"
#include "uprobe.skel.h"

/* How far from the addresses in its file the program runs: the kernel told it where it starts. */
static int load_bias(pid_t pid, uint64_t entry, uint64_t *bias)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return err_set(errno, "cannot open %s: %s", name, strerror(errno));
    Elf64_auxv_t row;
    int error = -ENOENT;
    while (error && fread(&row, sizeof(row), 1, file) == 1)
        if (row.a_type == AT_ENTRY) {
            *bias = row.a_un.a_val - entry;
            error = 0;
        }
    fclose(file);
    return error ? err_set(ENOENT, "%s does not tell where the program starts", name) : 0;
}

int tracer_add_classes(struct tracer *tracer, struct elf_file *file, const struct probe_map *map)
{
    if (map->class_count == 0)
        return 0;
    const char **names = calloc(map->class_count, sizeof(*names));
    uint64_t *addresses = calloc(map->class_count, sizeof(*addresses));
    uint64_t bias = 0;
    int error = names && addresses ? 0 : err_no_memory();
    for (size_t i = 0; !error && i < map->class_count; i++)
        names[i] = map->classes[i].symbol;
    if (!error)
        error = elf_file_objects(file, names, map->class_count, addresses);
    if (!error)
        error = load_bias(tracer->target.pid, elf_file_entry(file), &bias);
    int classes = bpf_map__fd(tracer->skeleton->maps.classes);
    for (size_t i = 0; !error && i < map->class_count; i++) {
        /* an object's first word leads behind the table's two words of its own: the C++ ABI */
        uint64_t word = bias + addresses[i] + 16;
        if (addresses[i] && bpf_map_update_elem(classes, &word, &map->classes[i].number, BPF_ANY))
            error = err_set(errno, "cannot fill the table of classes: %s", strerror(errno));
    }
    free(names);
    free(addresses);
    return error;
}
