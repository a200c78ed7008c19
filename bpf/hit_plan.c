/* SPDX-License-Identifier: MIT */
#include "hit_plan.h"

#include <errno.h>
#include <string.h>

#include "err.h"

static int append(struct uprobe_hit *hit, struct uprobe_fetch read)
{
    if (hit->count == UPROBE_MAX_VALUES)
        return err_set(E2BIG, "more than %d values are read at one function", UPROBE_MAX_VALUES);
    hit->reads[hit->count] = read;
    return (int)hit->count++;
}

/* Which of the hit's values the row's is, read anew if nobody wanted it before. */
static int add(struct uprobe_hit *hit, const struct uprobe_fetch *fetch, uint8_t *which)
{
    if (fetch->reg == UPROBE_NONE || fetch->reg == UPROBE_REMEMBERED)
        return 0;
    struct uprobe_fetch read = *fetch;
    read.width = read.negate = 0; /* what is made of it later */
    int at = -1;
    for (uint32_t i = 0; at < 0 && i < hit->count; i++)
        if (memcmp(&hit->reads[i], &read, sizeof(read)) == 0)
            at = (int)i;
    if (at < 0)
        at = append(hit, read);
    *which = (uint8_t)at;
    return at < 0 ? at : 0;
}

/* The length and the address stand right before what they are read for. */
static int add_text(struct uprobe_hit *hit, const struct uprobe_site *site, uint8_t *which)
{
    const struct uprobe_fetch reads[] = {site->length, site->text, {.reg = UPROBE_TEXT_POINT}};
    int at = 0;
    for (size_t i = 0; at >= 0 && i < sizeof(reads) / sizeof(reads[0]); i++)
        at = append(hit, reads[i]);
    *which = (uint8_t)at;
    return at < 0 ? at : 0;
}

static int add_row(struct uprobe_hit *hit, struct uprobe_site *site)
{
    uint8_t *values = site->values;
    if (site->kind == UPROBE_REMEMBER)
        return 0;
    int error = site->kind == UPROBE_TEXT ? add_text(hit, site, &values[UPROBE_VALUE_TEXT]) : 0;
    if (!error && site->compare != UPROBE_ALWAYS)
        error = add(hit, &site->when, &values[UPROBE_VALUE_WHEN]);
    if (!error)
        error = add(hit, &site->key, &values[UPROBE_VALUE_KEY]);
    if (!error)
        error = add(hit, &site->arg0, &values[UPROBE_VALUE_ARG0]);
    if (!error)
        error = add(hit, &site->arg1, &values[UPROBE_VALUE_ARG1]);
    return error;
}

int hit_plan(struct uprobe_site *sites, size_t first, struct uprobe_hit *hit)
{
    *hit = (struct uprobe_hit){.lines = 1};
    int error = 0;
    for (size_t i = first; !error; i = sites[i].next) {
        error = add_row(hit, &sites[i]);
        if (sites[i].next == 0)
            break;
    }
    if (hit->count > UPROBE_HEAD_VALUES)
        hit->lines +=
            (hit->count - UPROBE_HEAD_VALUES + UPROBE_LINE_VALUES - 1) / UPROBE_LINE_VALUES;
    return error;
}
