/* SPDX-License-Identifier: MIT */
#include "hit_plan.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"

/* What the rows want: each value once, in the order in which it is read. */
struct wishes {
    uint32_t count;
    struct uprobe_fetch fetches[UPROBE_MAX_VALUES];
};

static int append(struct wishes *wishes, struct uprobe_fetch fetch)
{
    if (wishes->count == UPROBE_MAX_VALUES)
        return err_set(E2BIG, "more than %d values are read at one function", UPROBE_MAX_VALUES);
    wishes->fetches[wishes->count] = fetch;
    return (int)wishes->count++;
}

/* Which of the hit's values the row's is, read anew if nobody wanted it before. */
static int add(struct wishes *wishes, const struct uprobe_fetch *fetch, uint8_t *which)
{
    if (fetch->reg == UPROBE_NONE || fetch->reg == UPROBE_REMEMBERED)
        return 0;
    struct uprobe_fetch read = *fetch;
    read.width = read.negate = 0; /* what is made of it later */
    int at = -1;
    for (uint32_t i = 0; at < 0 && i < wishes->count; i++)
        if (memcmp(&wishes->fetches[i], &read, sizeof(read)) == 0)
            at = (int)i;
    if (at < 0)
        at = append(wishes, read);
    *which = (uint8_t)at;
    return at < 0 ? at : 0;
}

/* The length and the address stand right before what they are read for. */
static int add_text(struct wishes *wishes, const struct uprobe_site *site, uint8_t *which)
{
    const struct uprobe_fetch reads[] = {site->length, site->text, {.reg = UPROBE_TEXT_POINT}};
    int at = 0;
    for (size_t i = 0; at >= 0 && i < sizeof(reads) / sizeof(reads[0]); i++)
        at = append(wishes, reads[i]);
    *which = (uint8_t)at;
    return at < 0 ? at : 0;
}

static int add_row(struct wishes *wishes, struct uprobe_site *site)
{
    uint8_t *values = site->values;
    if (site->kind == UPROBE_REMEMBER)
        return 0;
    int error = site->kind == UPROBE_TEXT ? add_text(wishes, site, &values[UPROBE_VALUE_TEXT]) : 0;
    if (!error && site->compare != UPROBE_ALWAYS)
        error = add(wishes, &site->when, &values[UPROBE_VALUE_WHEN]);
    if (!error)
        error = add(wishes, &site->key, &values[UPROBE_VALUE_KEY]);
    if (!error)
        error = add(wishes, &site->arg0, &values[UPROBE_VALUE_ARG0]);
    if (!error)
        error = add(wishes, &site->arg1, &values[UPROBE_VALUE_ARG1]);
    return error;
}

/* The sum behind the loads, if there is one. */
static int32_t sum_of(const struct uprobe_fetch *fetch)
{
    return fetch->loads < UPROBE_MAX_LOADS ? fetch->offsets[fetch->loads] : 0;
}

/* Do both come to their first `loads` addresses in the same way? */
static bool share(const struct uprobe_fetch *one, const struct uprobe_fetch *other, unsigned loads)
{
    return one->reg == other->reg && one->reg < UPROBE_REGISTER_COUNT &&
           memcmp(one->offsets, other->offsets, loads * sizeof(one->offsets[0])) == 0;
}

/* The way to a value from the register; or from one that was read before and is on the way. */
static void start_from(const struct wishes *wishes, struct uprobe_hit *hit, uint32_t at)
{
    const struct uprobe_fetch *fetch = &wishes->fetches[at];
    struct uprobe_read *read = &hit->reads[at];
    unsigned known = 0;
    *read = (struct uprobe_read){.from = (uint8_t)(8 * fetch->reg), .parent = (uint8_t)at};
    for (uint32_t i = 0; i < at; i++) {
        const struct uprobe_fetch *before = &wishes->fetches[i];
        if (before->loads <= known || before->loads >= fetch->loads ||
            !share(before, fetch, before->loads) || hit->reads[i].to == UPROBE_LAST)
            continue;
        known = before->loads;
        read->from = hit->reads[i].pick;
        read->parent = (uint8_t)i;
    }
    read->loads = (uint8_t)(fetch->loads - known);
    for (unsigned i = known; i < UPROBE_MAX_LOADS; i++)
        read->offsets[i - known] = fetch->offsets[i];
}

/* Reads the value, and with it what others want that lies close by, before or behind. `room` is the
 * next place for what is read; where there is none, what is read is not kept. */
static void read_span(const struct wishes *wishes, struct uprobe_hit *hit, uint32_t at,
                      bool *is_planned, unsigned *room)
{
    const struct uprobe_fetch *fetch = &wishes->fetches[at];
    struct uprobe_read *read = &hit->reads[at];
    unsigned last = fetch->loads - 1u;
    unsigned left = UPROBE_LAST - *room;
    int limit = left < UPROBE_SPAN ? (int)left : UPROBE_SPAN;
    bool kept = left >= 8;
    int32_t low = fetch->offsets[last], high = low;
    for (uint32_t i = at + 1; kept && i < wishes->count; i++) {
        const struct uprobe_fetch *other = &wishes->fetches[i];
        if (is_planned[i] || other->loads != fetch->loads || !share(fetch, other, last))
            continue;
        int64_t offset = other->offsets[last];
        int64_t new_low = offset < low ? offset : low, new_high = offset > high ? offset : high;
        if (new_high + 8 - new_low > limit)
            continue;
        low = (int32_t)new_low;
        high = (int32_t)new_high;
        is_planned[i] = true;
        /* where from: below, when it is known where the span begins */
        hit->reads[i] = (struct uprobe_read){.parent = (uint8_t)at, .offsets = {sum_of(other)}};
    }
    read->to = (uint8_t)(kept ? *room : UPROBE_LAST);
    read->bytes = (uint8_t)(high + 8 - low);
    read->pick = (uint8_t)(read->to + (fetch->offsets[last] - low));
    read->offsets[read->loads - 1] = low;
    if (kept)
        *room += (read->bytes + 7u) & ~7u;
    for (uint32_t i = at + 1; i < wishes->count; i++)
        if (is_planned[i] && hit->reads[i].parent == at && hit->reads[i].loads == 0)
            hit->reads[i].from = hit->reads[i].pick =
                (uint8_t)(read->to + (wishes->fetches[i].offsets[last] - low));
}

static void plan_reads(const struct wishes *wishes, struct uprobe_hit *hit)
{
    bool is_planned[UPROBE_MAX_VALUES] = {false};
    unsigned room = UPROBE_SPANS;
    for (uint32_t i = 0; i < wishes->count; i++) {
        if (is_planned[i])
            continue;
        is_planned[i] = true;
        start_from(wishes, hit, i);
        if (wishes->fetches[i].reg == UPROBE_TEXT_POINT)
            hit->reads[i].from = UPROBE_TEXT_FROM;
        else if (wishes->fetches[i].loads > 0)
            read_span(wishes, hit, i, is_planned, &room);
    }
}

int hit_plan(struct uprobe_site *sites, size_t first, struct uprobe_hit *hit)
{
    struct wishes wishes = {0};
    *hit = (struct uprobe_hit){.lines = 1};
    int error = 0;
    for (size_t i = first; !error; i = sites[i].next) {
        error = add_row(&wishes, &sites[i]);
        if (sites[i].next == 0)
            break;
    }
    hit->count = wishes.count;
    plan_reads(&wishes, hit);
    if (hit->count > UPROBE_HEAD_VALUES)
        hit->lines +=
            (hit->count - UPROBE_HEAD_VALUES + UPROBE_LINE_VALUES - 1) / UPROBE_LINE_VALUES;
    return error;
}
