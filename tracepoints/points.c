/* SPDX-License-Identifier: MIT */
#include "points.h"

#include <errno.h>
#include <string.h>

const struct point_row point_rows[POINT_COUNT] = {
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    {#component "." #action, #component "_" #action, ROLE_##role, KEY_##key, #arg0, #arg1, text},
#include <optrail/events.def>
#undef OPTRAIL_POINT
};

int point_by_name(const char *name)
{
    for (int i = 0; i < POINT_COUNT; i++)
        if (strcmp(point_rows[i].name, name) == 0)
            return i;
    return -ENOENT;
}

int point_by_identifier(const char *identifier)
{
    for (int i = 0; i < POINT_COUNT; i++)
        if (strcmp(point_rows[i].identifier, identifier) == 0)
            return i;
    return -ENOENT;
}

const char *event_role_name(enum event_role role)
{
    static const char *const names[ROLE_COUNT] = {
        "start",  "enter", "leave", "mark",  "stamp",  "link",   "fork", "join",    "identify",
        "finish", "end",   "note",  "pause", "resume", "answer", "move", "release", "text",
    };
    return names[role];
}

const char *key_kind_name(enum key_kind kind)
{
    static const char *const names[KEY_COUNT] = {"current", "op",      "sequence", "client op",
                                                 "object",  "context", "store op", "message",
                                                 "subop",   "lock",    "stack"};
    return names[kind];
}
