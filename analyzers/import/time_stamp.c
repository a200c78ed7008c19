/* SPDX-License-Identifier: MIT */
#include "time_stamp.h"

#include <ctype.h>
#include <stdio.h>

/* Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is
 * their last. */
static int64_t days(int year, int month, int day)
{
    static const int before[] = {306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275};
    int64_t from_march = year - (month < 3);

    return from_march * 365 + from_march / 4 - from_march / 100 + from_march / 400 +
           before[month - 1] + day - 1 - 719468;
}

/* Seconds east of Greenwich: "+0100" or "+01:00"; 0 when there is no zone. */
static int64_t zone(const char *text)
{
    int hours = 0, minutes = 0;

    if (*text != '+' && *text != '-')
        return 0;
    if (sscanf(text + 1, "%2d:%2d", &hours, &minutes) != 2 &&
        sscanf(text + 1, "%2d%2d", &hours, &minutes) != 2)
        return 0;
    return (int64_t)(hours * 60 + minutes) * (*text == '-' ? -60 : 60);
}

bool time_stamp_read(const char *text, int64_t *ns)
{
    int year, month, day, hour, minute, second, length = 0;
    char parting;
    int64_t fraction = 0, unit = 100000000;

    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%2d%n", &year, &month, &day, &parting, &hour, &minute,
               &second, &length) != 7 ||
        length == 0 || year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 ||
        day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    text += length;
    if (*text == '.' || *text == ',')
        for (text++; isdigit((unsigned char)*text); text++, unit /= 10)
            fraction += unit * (*text - '0');
    int64_t seconds = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *ns = (seconds - zone(text)) * 1000000000 + fraction;
    return true;
}
