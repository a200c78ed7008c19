/* SPDX-License-Identifier: MIT */
#include "lock_rows.h"

#include <stddef.h>

const struct lock_row lock_rows[LOCK_ROW_COUNT] = {
#define OPTRAIL_LOCK(name, kind, request, acquired, released, which, text)                         \
    {name, WAIT_##kind, POINT_##request, POINT_##acquired, POINT_##released, LOCK_BY_##which, text},
#include <optrail/locks.def>
#undef OPTRAIL_LOCK
};

const struct lock_row *lock_row_of_point(uint16_t point, enum lock_step *step)
{
    for (size_t i = 0; i < LOCK_ROW_COUNT; i++) {
        const uint16_t points[] = {(uint16_t)lock_rows[i].request, (uint16_t)lock_rows[i].acquired,
                                   (uint16_t)lock_rows[i].released};
        for (int j = LOCK_REQUEST; j <= LOCK_RELEASED; j++) {
            if (points[j] == point) {
                *step = (enum lock_step)j;
                return &lock_rows[i];
            }
        }
    }
    return NULL;
}
