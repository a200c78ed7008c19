/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PLURAL_H
#define OPTRAIL_PLURAL_H

#include <stdint.h>

/* What makes the noun behind a count agree with it: "%zu op%s". */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
