/* SPDX-License-Identifier: MIT */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

#undef err_set
#undef err_no_memory

static __thread char message[1024];

/* A message is one line, whatever a hostile file name or symbol brought along, and does nothing to
 * the terminal. */
static void one_line(void)
{
    char raw[sizeof(message)];

    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    memcpy(raw, message, sizeof(raw));
    escape_for_terminal(raw, message, sizeof(message));
}

int err_set(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    one_line();
    return -code;
}

int err_prefix(int result, const char *format, ...)
{
    char before[sizeof(message)];
    char whole[2 * sizeof(message) + 2];
    va_list args;
    va_start(args, format);
    vsnprintf(before, sizeof(before), format, args);
    va_end(args);
    snprintf(whole, sizeof(whole), "%s: %s", before, message);
    size_t length = strnlen(whole, sizeof(message) - 1);
    memcpy(message, whole, length);
    message[length] = '\0';
    one_line();
    return result;
}

int err_no_memory(void)
{
    return err_set(ENOMEM, "out of memory");
}

const char *err_message(void)
{
    return message;
}
