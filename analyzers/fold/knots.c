/* SPDX-License-Identifier: MIT */
#include "knots.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* So many locks are looked at, those waited for longest: a bit each. */
#define LOCKS 64
/* Holders that wait for another lock for less than this part of the hold are no edge. */
#define EDGE 0.1

/* Which locks the holders of each wait for. */
static void find_edges(const struct report *report, size_t count, uint64_t *reach)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < report->locks[i].holder_count; j++) {
            const struct report_part *part = &report->locks[i].holders[j];
            if (part->share < EDGE || strncmp(part->name, "lock:", 5) != 0)
                continue;
            for (size_t k = 0; k < count; k++)
                if (k != i && strcmp(report->locks[k].name, part->name + 5) == 0)
                    reach[i] |= 1ull << k;
        }
}

int knots_note(struct report *report)
{
    uint64_t reach[LOCKS] = {0}, told = 0;
    size_t count = report->lock_count < LOCKS ? report->lock_count : LOCKS;
    int rc = 0;
    find_edges(report, count, reach);
    /* Warshall: what is reached over any number of edges */
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < count; i++)
            if (reach[i] >> k & 1)
                reach[i] |= reach[k];
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char names[512] = "";
        bool knot = reach[i] >> i & 1;
        for (size_t k = 0; k < count && knot; k++)
            if (reach[i] >> k & 1)
                knot = reach[k] >> i & 1;
        if (!knot || told >> i & 1)
            continue;
        told |= reach[i];
        for (size_t k = 0; k < count; k++)
            if (reach[i] >> k & 1)
                snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.60s",
                         *names ? ", " : "", report->locks[k].name);
        rc = report_add_note(report,
                             "The holders of these locks wait for each other's (a knot of the "
                             "wait-for graph): %s. Nothing is gained by one of them alone.",
                             names);
    }
    return rc;
}
