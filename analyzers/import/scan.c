/* SPDX-License-Identifier: MIT */
#include "scan.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool scan_line(const char **at, char *line)
{
    size_t length = strcspn(*at, "\n");
    size_t kept = length < SCAN_LINE ? length : SCAN_LINE - 1;

    if (**at == '\0')
        return false;
    memcpy(line, *at, kept);
    line[kept] = '\0';
    *at += length + ((*at)[length] == '\n');
    return true;
}

bool scan_number(const char *text, double *number, const char **end)
{
    char digits[48];
    size_t length = 0;
    bool point = false;

    while (isspace((unsigned char)*text) && *text != '\n')
        text++;
    for (; length < sizeof(digits) - 1; length++) {
        char character = text[length];
        if ((character == '.' || character == ',') && !point &&
            isdigit((unsigned char)text[length + 1])) {
            point = true;
            character = '.';
        } else if (!isdigit((unsigned char)character) && !(length == 0 && character == '-') &&
                   !(length > 0 && (character == 'e' || character == 'E') &&
                     (isdigit((unsigned char)text[length + 1]) || text[length + 1] == '+' ||
                      text[length + 1] == '-')) &&
                   !((character == '+' || character == '-') && length > 0 &&
                     (digits[length - 1] == 'e' || digits[length - 1] == 'E'))) {
            break;
        }
        digits[length] = character;
    }
    digits[length] = '\0';
    char *stop;
    *number = strtod(digits, &stop);
    *end = text + (stop - digits);
    return stop != digits && isfinite(*number);
}

bool scan_after(const char *text, const char *key, double *number)
{
    const char *at = strstr(text, key), *end;

    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " \t:=");
    return scan_number(at, number, &end);
}

size_t scan_row(const char *line, double *numbers, size_t most)
{
    size_t count = 0;

    for (const char *at = line; count < most;) {
        at += strspn(at, " \t|");
        if (*at == '\0')
            break;
        if (*at == '-' && (at[1] == '\0' || isspace((unsigned char)at[1]))) {
            numbers[count++] = NAN;
            at++;
            continue;
        }
        if (!scan_number(at, &numbers[count], &at) || (*at && !strchr(" \t|", *at)))
            return 0;
        count++;
    }
    return count;
}

bool scan_begins(const char *text, const char *with)
{
    text += strspn(text, " \t");
    return strncmp(text, with, strlen(with)) == 0;
}
