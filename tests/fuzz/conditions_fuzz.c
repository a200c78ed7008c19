/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same text as a condition of --fail-if, and as an amount of --between-runs: what is understood
 * is something that can be compared with. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct compare_condition condition;
    struct compare_between between;
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (compare_condition_parse(text, &condition) == 0 &&
        (!*condition.type || !isfinite(condition.limit) || condition.statistic >= DIFF_STATISTICS))
        abort();
    if (compare_between_parse(text, &between) == 0 &&
        (!isfinite(between.part) || !isfinite(between.ns) || between.part < 0 || between.ns < 0))
        abort();
    free(text);
    return 0;
}
