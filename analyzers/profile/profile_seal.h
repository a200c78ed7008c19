/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROFILE_SEAL_H
#define OPTRAIL_PROFILE_SEAL_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): tells a damaged file from a whole one. It
 * is no protection against intent, so whatever it lets through must be harmless as well. */
static inline uint64_t profile_seal(const char *bytes, size_t size)
{
    uint64_t seal = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < size; i++)
        seal = (seal ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
    return seal;
}

#endif
