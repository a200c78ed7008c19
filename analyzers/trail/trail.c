/* SPDX-License-Identifier: MIT */
#include "trail.h"

const char *const trail_end_names[TRAIL_END_COUNT] = {
    "finished", "timeout", "key_reused", "key_ended", "lost_events", "evicted", "open", "cut",
};
