/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TEST_UNTIL_ASLEEP_H
#define OPTRAIL_TEST_UNTIL_ASLEEP_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Waits until the thread of this process is in one of the states ("S"), as /proc says: what it is
 * about to wait for, it waits for. */
static inline void until_asleep(uint32_t tid, const char *states)
{
    char path[64], line[256], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
    while (!state || !strchr(states, state)) {
        FILE *file = fopen(path, "re");
        if (file && fgets(line, sizeof(line), file))
            state = strrchr(line, ')')[2];
        if (file)
            fclose(file);
        sched_yield();
    }
}

#endif
