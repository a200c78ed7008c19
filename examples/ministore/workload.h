/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_WORKLOAD_H
#define MINISTORE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load_options.h"

/* Which ops the load consists of, and what is in the objects: both are functions of numbers alone,
 * so a run can be repeated and what is read can be checked. */

struct planned_op {
    bool write;
    uint64_t object; /* index below options->objects; those of a thread are its own */
};

/* The op number `number` of a thread. */
struct planned_op workload_op(const struct load_options *options, unsigned thread, uint64_t number);

/* How many objects a thread has, and the index of one of them. */
uint64_t workload_objects(const struct load_options *options, unsigned thread);
uint64_t workload_object(const struct load_options *options, unsigned thread, uint64_t number);

/* The bytes of an object's version (from 1 on). length: a multiple of 8, at least 16. */
void workload_fill(void *bytes, size_t length, uint64_t object, uint64_t version);

/* The version that these bytes are, wholly; 0: they are not of this object, or damaged. */
uint64_t workload_version(const void *bytes, size_t length, uint64_t object);

/* Adds an op to a digest of a thread's sequence. */
uint64_t workload_digest(uint64_t digest, struct planned_op op);

#endif
