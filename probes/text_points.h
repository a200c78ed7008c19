/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TEXT_POINTS_H
#define OPTRAIL_TEXT_POINTS_H

/* IF_TEXT(role, NAME_) is NAME_1 for the rows of the catalogue whose role is TEXT, NAME_0 for all
 * others: only one of the probes' names for roles is known here, so only that one makes a comma. */
#define TEXT_POINT_TEXT                 ~, 1
#define TEXT_POINT_SECOND(_, flag, ...) flag
#define TEXT_POINT_PICK(...)            TEXT_POINT_SECOND(__VA_ARGS__, 0, 0)
#define TEXT_POINT_PASTE(name, flag)    name##flag
#define TEXT_POINT_NAME(name, flag)     TEXT_POINT_PASTE(name, flag)
#define IF_TEXT(role, name)             TEXT_POINT_NAME(name, TEXT_POINT_PICK(TEXT_POINT_##role))

#endif
