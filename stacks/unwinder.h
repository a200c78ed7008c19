/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_UNWINDER_H
#define OPTRAIL_UNWINDER_H

/* What the files of this folder share of an unwinder. */

#include "libunwind_steps.h"
#include "process_maps.h"
#include "unwind.h"
#include "unwind_row.h"

/* From program counter to row, direct mapped. */
enum { PC_CACHE_BITS = 13, PC_CACHE_SIZE = 1 << PC_CACHE_BITS };

struct pc_entry {
    uint64_t pc; /* 0: empty */
    int32_t cfa_offset;
    int16_t rbp_offset;
    uint8_t cfa, rbp;
};

struct names; /* symbols.c */

struct unwinder {
    pid_t pid;
    struct process_maps maps;
    struct libunwind_space *fallback; /* made when it is first needed */
    struct unwinder_counts counts;
    struct names *names; /* owned, by names_free; made when it is first needed */
    struct pc_entry cache[PC_CACHE_SIZE];
};

/* The mapping with code that an address lies in, its module made; NULL: none, or no module. */
struct process_map *unwinder_map(struct unwinder *unwinder, uint64_t address);

/* Whether a frame is the kernel's signal frame: the counter below it is no return address. */
bool unwinder_is_signal_frame(struct unwinder *unwinder, uint64_t counter);

void names_free(struct names *names); /* NULL is fine */
/* The mappings have changed: what was found by address is forgotten. */
void names_moved(struct names *names);

#endif
