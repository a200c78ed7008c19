/* SPDX-License-Identifier: MIT */
#include "duty_option.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define LEAST 0.001

int duty_option_read(const char *text, double most, double *fraction)
{
    char *end;
    *fraction = 0;
    if (!text)
        return 0;
    double value = strtod(text, &end);
    bool percent = strcmp(end, "%") == 0;
    if (end == text || (*end && !percent))
        return err_set(EINVAL, "--duty: '%s' is no part of the time: 10%%, say", text);
    *fraction = percent ? value / 100 : value;
    if (!(*fraction >= LEAST && *fraction <= most))
        return err_set(EINVAL, "--duty: %s is not between 0.1%% and %.0f%%", text, 100 * most);
    return 0;
}
