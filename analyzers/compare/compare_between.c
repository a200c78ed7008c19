/* SPDX-License-Identifier: MIT */
/* What two runs of the same are taken to differ by. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compare_private.h"
#include "err.h"

int compare_between_parse(const char *text, struct compare_between *between)
{
    const char *at = text;
    *between = (struct compare_between){0};
    do {
        char term[32];
        double amount;
        bool percent;
        size_t length = strcspn(at, "+");
        const char *wrong = length < sizeof(term) ? NULL : "too long";
        if (!wrong) {
            snprintf(term, sizeof(term), "%.*s", (int)length, at);
            wrong = parse_amount(term, &amount, &percent);
        }
        if (!wrong && amount < 0)
            wrong = "less than nothing";
        if (wrong)
            return err_set(EINVAL,
                           "--between-runs '%.64s': %s: a part, a time, or both: '2%%', "
                           "'1%%+5us', '0%%'",
                           text, wrong);
        *(percent ? &between->part : &between->ns) = amount;
        at += length;
    } while (*at++ == '+');
    return 0;
}
