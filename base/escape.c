/* SPDX-License-Identifier: MIT */
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the UTF-8 sequence at `text` and its code point; 0 when it is none (overlong forms and
 * surrogates are none). */
static size_t decode(const char *text, uint32_t *point)
{
    const unsigned char *at = (const unsigned char *)text;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80       ? 1
                    : at[0] >> 5 == 6  ? 2
                    : at[0] >> 4 == 14 ? 3
                    : at[0] >> 3 == 30 ? 4
                                       : 0;

    if (length <= 1) {
        *point = at[0];
        return length;
    }
    *point = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (at[i] & 0x3f);
    }
    if (*point < smallest[length] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
        return 0;
    return length;
}

/* Characters that do something to a terminal, or hide: controls, zero-width and directional ones.
 */
static bool is_unsafe(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},
                  {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

static size_t escape(const char *text, char *out, size_t size, bool for_terminal)
{
    size_t used = 0, width = 0;

    while (*text) {
        uint32_t point = 0;
        size_t length = decode(text, &point);
        bool escaped = length == 0 || (for_terminal && is_unsafe(point));

        if (length == 0)
            length = 1;
        if (used + (escaped ? 4 * length : length) + 1 > size)
            break;
        for (size_t i = 0; escaped && i < length; i++) {
            snprintf(out + used, size - used, "\\x%02x", (unsigned char)text[i]);
            used += 4;
            width += 4;
        }
        if (!escaped) {
            memcpy(out + used, text, length);
            used += length;
            width++;
        }
        text += length;
    }
    out[used] = '\0';
    return width;
}

size_t escape_for_terminal(const char *text, char *out, size_t size)
{
    return escape(text, out, size, true);
}

void escape_for_json(const char *text, char *out, size_t size)
{
    escape(text, out, size, false);
}
