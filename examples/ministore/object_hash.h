/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_OBJECT_HASH_H
#define MINISTORE_OBJECT_HASH_H

#include <stdint.h>

/* A well-mixed number for an object: groups, directories and tables take their bits from it. The
 * finalizer of splitmix64 (Steele, Lea, Flood, 2014): a bijection that mixes all bits. */
static inline uint64_t object_hash(uint64_t object)
{
    object ^= object >> 30;
    object *= 0xbf58476d1ce4e5b9ull;
    object ^= object >> 27;
    object *= 0x94d049bb133111ebull;
    return object ^ object >> 31;
}

/* The placement group of an object, where there are `count` of them. */
static inline uint32_t placement_group_number(uint64_t object, uint32_t count)
{
    return (uint32_t)((object_hash(object) >> 32) % count);
}

#endif
