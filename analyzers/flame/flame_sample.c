/* SPDX-License-Identifier: MIT */
#include "flame_sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

const struct flame_kind_row flame_kind_rows[FLAME_KIND_COUNT] = {
#define OPTRAIL_FLAME_KIND(name, wall, unit, counted, text) {#name, wall, unit, counted, text},
#include "flame_kinds.def"
#undef OPTRAIL_FLAME_KIND
};

const char *const flame_attribute_names[FLAME_ATTRIBUTE_COUNT] = {
    [FLAME_BY_KIND] = "kind",     [FLAME_BY_REASON] = "reason", [FLAME_BY_POOL] = "pool",
    [FLAME_BY_THREAD] = "thread", [FLAME_BY_OP] = "op",         [FLAME_BY_STAGE] = "stage",
    [FLAME_BY_WAKER] = "waker",
};

uint32_t flame_kinds_by_name(const char *name)
{
    char known[256] = "wall";
    uint32_t kinds = 0;
    for (int i = 0; i < FLAME_KIND_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, ", %s", flame_kind_rows[i].name);
        if (strcmp(name, flame_kind_rows[i].name) == 0 ||
            (flame_kind_rows[i].wall && strcmp(name, "wall") == 0))
            kinds |= 1u << i;
    }
    if (!kinds)
        err_set(EINVAL, "there is no kind '%s': the kinds are %s", name, known);
    return kinds;
}

int flame_frames_of_text(struct flame_names *names, const char *text, uint32_t *frames, bool *cut)
{
    int count = 0;
    *cut = false;
    for (const char *at = text; *at;) {
        const char *end = strchrnul(at, ';');
        if (end > at && count == FLAME_MAX_FRAMES) {
            *cut = true;
            break;
        }
        if (end > at) {
            int result = flame_name(names, at, (size_t)(end - at), &frames[count]);
            if (result < 0)
                return result;
            count++;
        }
        at = *end ? end + 1 : end;
    }
    for (int i = 0; i < count / 2; i++) {
        uint32_t frame = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }
    return count;
}
