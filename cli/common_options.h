/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_COMMON_OPTIONS_H
#define OPTRAIL_COMMON_OPTIONS_H

#include "command.h"

/* Rows of options that several verbs have, beside those of the targets and of the report. */

/* How long a running daemon is looked at, into a double; `what` is done: "trace". */
#define DURATION_OPTION_ROW(seconds, what)                                                         \
    {                                                                                              \
        .name = "duration", .letter = 'd', .type = OPTION_SECONDS, .argument = "SECONDS",          \
        .value = &(seconds), .minimum = 0.1, .maximum = 86400,                                     \
        .text = what " for so long (without it: until Ctrl-C)"                                     \
    }

/* Which path files are used, into a const char *. */
#define PATH_OPTION_ROW(path)                                                                      \
    {                                                                                              \
        .name = "path", .type = OPTION_STRING, .argument = "FILE", .value = &(path),               \
        .text = "take the stages from this path file, or from the files of this directory, in "    \
                "place of the installed ones"                                                      \
    }

#endif
