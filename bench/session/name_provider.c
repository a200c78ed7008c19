/* SPDX-License-Identifier: MIT */
#include "name_provider.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void name_provider(void)
{
    /* where it is, seen from the programs that record: beside them, or they are in bin */
    static const char *const places[] = {"optrail-provider.so",
                                         "../lib/optrail/optrail-provider.so"};
    char program[PATH_MAX], file[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0)
        return;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(file, sizeof(file), "%s%s", program, places[i]);
        if (access(file, R_OK) == 0) {
            setenv("OPTRAIL_PROVIDER", file, 0);
            return;
        }
    }
}
