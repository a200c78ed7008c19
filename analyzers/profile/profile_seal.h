/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROFILE_SEAL_H
#define OPTRAIL_PROFILE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "fnv1a.h"

/* Tells a damaged file from a whole one. It is no protection against intent, so whatever it lets
 * through must be harmless as well. */
static inline uint64_t profile_seal(const char *bytes, size_t size)
{
    return fnv1a(FNV1A_BEGIN, bytes, size);
}

#endif
