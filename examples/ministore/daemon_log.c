/* SPDX-License-Identifier: MIT */
#include "daemon_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"

#undef log_error

#define LINES_PER_SECOND 8

int log_error(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
    return -1;
}

void log_limited(const char *format, ...)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t second_began_ns;
    static unsigned lines, held_back;

    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&lock);
    uint64_t now = clock_now_ns();
    if (now - second_began_ns > NS_PER_SECOND) {
        if (held_back)
            fprintf(stderr, "%s: %u more such lines were held back\n",
                    program_invocation_short_name, held_back);
        second_began_ns = now;
        lines = held_back = 0;
    }
    if (lines++ < LINES_PER_SECOND)
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
    else
        held_back++;
    pthread_mutex_unlock(&lock);
}
