/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_HIT_PLAN_H
#define OPTRAIL_HIT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "uprobe.h"

/*
 * What is read at a hit that serves several rows: each value once, whichever rows want it. `first`
 * is the first of them in `sites`, `next` leads to the others; their `values` are filled in, and
 * *hit. Fails with E2BIG when there are more than UPROBE_MAX_VALUES.
 */
int hit_plan(struct uprobe_site *sites, size_t first, struct uprobe_hit *hit);

#endif
