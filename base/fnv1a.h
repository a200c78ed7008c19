/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FNV1A_H
#define OPTRAIL_FNV1A_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv). No protection against intent. */
#define FNV1A_BEGIN 0xcbf29ce484222325ull

/* Goes on from `hash`, at first FNV1A_BEGIN. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3ull;
    return hash;
}

#endif
