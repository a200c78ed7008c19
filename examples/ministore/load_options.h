/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_LOAD_OPTIONS_H
#define MINISTORE_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum load_mode { LOAD_WRITE, LOAD_RANDREAD, LOAD_MIXED, LOAD_CHECK };

struct load_options {
    enum load_mode mode;
    uint64_t seconds; /* 0: `ops` decides */
    const char *host;
    uint64_t port;
    uint64_t ops;     /* exactly so many; 0: `seconds` decides */
    uint64_t depth;   /* ops in flight, over all connections */
    uint64_t threads; /* connections */
    uint64_t object_size;
    uint64_t objects;
    uint64_t first_object;
    uint64_t reads; /* percent, of the mixed mode */
    uint64_t seed;
    uint64_t client;
    uint64_t cache; /* bytes; 0: none */
    uint64_t share;
    uint64_t hot_pg; /* percent */
    uint64_t placement_groups;
    uint64_t lock_stats;
    uint64_t prefill;
    uint64_t verify;
    uint64_t quiet;
    const char *record;
    const char *json;
};

/* 0 to go on, 1 when help was printed, -1 after a message (wrong use). */
int load_options_parse(struct load_options *options, int argc, char **argv);

#endif
