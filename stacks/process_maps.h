/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROCESS_MAPS_H
#define OPTRAIL_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack_module.h"

/* A mapping with code. */
struct process_map {
    uint64_t start, end, offset;
    uint64_t inode;
    unsigned device_major, device_minor;
    char *path;                  /* owned; "" where the kernel names nothing */
    bool tried;                  /* to find its module */
    struct stack_module *module; /* owned; NULL: none, or not tried yet */
    uint64_t bias;               /* what to add to the file's addresses */
};

struct process_maps {
    pid_t pid;
    struct process_map *maps; /* owned; by start */
    size_t count;
};

/* Reads /proc/PID/maps, keeping the modules of mappings that are as they were. Negative errno with
 * the message; the maps are as before then. */
int process_maps_read(struct process_maps *maps, pid_t pid);
void process_maps_free(struct process_maps *maps);

/* The mapping that an address lies in; NULL: none with code. */
struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address);

/* Opens the mapping's file itself, even if it was deleted or replaced; else by its path as the
 * process sees it. A descriptor, the caller's; negative, without a message, when there is none. */
int process_map_open(pid_t pid, const struct process_map *map);

/* Finds the mapping's module when that was not tried yet; returns whether it was tried only now. */
bool process_map_load(pid_t pid, struct process_map *map);

#endif
