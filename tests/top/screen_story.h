/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCREEN_STORY_H
#define OPTRAIL_SCREEN_STORY_H

#include "report.h"
#include "screen_history.h"

/* A minute in the life of a daemon whose writes wait longer and longer for a lock. */
struct screen_story {
    struct report *whole, *interval;
    struct screen_history *history;
};

void screen_story_tell(struct screen_story *story);
void screen_story_free(struct screen_story *story);

#endif
