/* SPDX-License-Identifier: MIT */
#include "suggest.h"

#include <errno.h>
#include <string.h>

#include "err.h"

#define LONGEST 31

static size_t smallest(size_t one, size_t two, size_t three)
{
    size_t least = one < two ? one : two;

    return least < three ? least : three;
}

/* The Damerau-Levenshtein distance (restricted to neighbouring swaps). */
static size_t distance(const char *one, size_t one_length, const char *other, size_t other_length)
{
    size_t rows[LONGEST + 1][LONGEST + 1];

    for (size_t i = 0; i <= one_length; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= other_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= one_length; i++) {
        for (size_t j = 1; j <= other_length; j++) {
            size_t change = one[i - 1] != other[j - 1];
            rows[i][j] =
                smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change);
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] &&
                rows[i - 2][j - 2] + 1 < rows[i][j])
                rows[i][j] = rows[i - 2][j - 2] + 1;
        }
    }
    return rows[one_length][other_length];
}

void suggest_begin(struct suggestion *suggestion, const char *word, size_t length)
{
    /* a third of the letters may be wrong, but not all of them */
    *suggestion = (struct suggestion){.word = word, .length = length, .distance = length / 3 + 2};
}

void suggest_try(struct suggestion *suggestion, const char *name)
{
    size_t length = strlen(name), found;

    if (length > LONGEST || suggestion->length > LONGEST)
        return;
    found = distance(suggestion->word, suggestion->length, name, length);
    if (found < suggestion->distance && found < length) {
        suggestion->distance = found;
        suggestion->nearest = name;
    }
}

int format_is_json(const char *format, bool *json)
{
    *json = strcmp(format, "json") == 0;
    if (*json || strcmp(format, "text") == 0)
        return 0;
    return err_set(EINVAL, "there is no format '%s': choose text or json", format);
}
