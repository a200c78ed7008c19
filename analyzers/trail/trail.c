/* SPDX-License-Identifier: MIT */
#include "trail.h"

const char *const trail_end_names[TRAIL_END_COUNT] = {
    "finished", "timeout", "key_reused", "key_ended", "lost_events", "evicted", "open", "cut",
};

void trail_counts_add(struct trail_counts *to, const struct trail_counts *from)
{
    to->joined += from->joined;
    to->notes += from->notes;
    to->unmatched += from->unmatched;
    to->of_which_before_start += from->of_which_before_start;
    to->of_which_after_finish += from->of_which_after_finish;
    for (int end = 0; end < TRAIL_END_COUNT; end++)
        to->ended[end] += from->ended[end];
    to->at_pauses += from->at_pauses;
    to->begun_before += from->begun_before;
    to->traced_ns += from->traced_ns;
    to->stamps_refused += from->stamps_refused;
    to->backwards += from->backwards;
}
