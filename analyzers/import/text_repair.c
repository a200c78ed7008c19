/* SPDX-License-Identifier: MIT */
#include "text_repair.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

#define LOOKED_AT 4096 /* bytes, whose zeros tell an encoding */

const char *text_encoding(const char *bytes, size_t size)
{
    static const struct {
        const char *mark, *name;
        size_t length;
    } marks[] = {{"\xff\xfe\0\0", "UTF-32", 4},
                 {"\0\0\xfe\xff", "UTF-32", 4},
                 {"\xff\xfe", "UTF-16", 2},
                 {"\xfe\xff", "UTF-16", 2}};
    size_t pairs = (size < LOOKED_AT ? size : LOOKED_AT) / 2, little = 0, big = 0;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (size >= marks[i].length && memcmp(bytes, marks[i].mark, marks[i].length) == 0)
            return marks[i].name;
    for (size_t i = 0; i < pairs; i++) {
        unsigned char even = (unsigned char)bytes[2 * i], odd = (unsigned char)bytes[2 * i + 1];
        little += odd == 0 && even > 0 && even < 0x80;
        big += even == 0 && odd > 0 && odd < 0x80;
    }
    /* a name or a sign here and there is not ASCII */
    if (pairs >= 4 && 4 * little >= 3 * pairs)
        return "UTF-16LE";
    return pairs >= 4 && 4 * big >= 3 * pairs ? "UTF-16BE" : NULL;
}

/* None of the texts is longer than what it stands for. */
static const struct {
    const char *from, *to;
} entities[] = {
    {"&gt;", ">"},          {"&lt;", "<"},         {"&amp;", "&"},        {"&quot;", "\""},
    {"&apos;", "'"},        {"&nbsp;", " "},       {"&#39;", "'"},        {"&#34;", "\""},
    {"&#x27;", "'"},        {"&#160;", " "},       {"\xc2\xa0", " "},     {"\xe2\x80\x9c", "\""},
    {"\xe2\x80\x9d", "\""}, {"\xe2\x80\x98", "'"}, {"\xe2\x80\x99", "'"}, {"\xef\xbb\xbf", ""},
};

/* How long the entity at `at` is; 0: there is none. */
static size_t entity_at(const char *at, size_t left, const char **to)
{
    /* most bytes begin none */
    if (!strchr("&\xc2\xe2\xef", *at) || *at == '\0')
        return 0;
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        size_t length = strlen(entities[i].from);
        if (length <= left && memcmp(at, entities[i].from, length) == 0) {
            *to = entities[i].to;
            return length;
        }
    }
    return 0;
}

static size_t decode(const char *bytes, size_t size, char *out, struct text_repairs *repairs)
{
    size_t used = 0;

    for (size_t at = 0; at < size;) {
        const char *to = NULL;
        size_t length = entity_at(bytes + at, size - at, &to);
        if (length) {
            repairs->entities++;
            at += length;
            while (*to)
                out[used++] = *to++;
            continue;
        }
        char character = bytes[at++];
        if (character == '\r') {
            repairs->returns++;
            character = at < size && bytes[at] == '\n' ? '\0' : '\n';
        } else if (character == '\0') {
            repairs->nulls++;
            character = ' ';
        }
        if (character)
            out[used++] = character;
    }
    return used;
}

/* In place: what stands before a quoted line, "> > ", goes. */
static size_t unquote(char *text, size_t size, struct text_repairs *repairs)
{
    size_t used = 0;

    for (size_t at = 0; at < size;) {
        size_t end = at, start = at;
        while (end < size && text[end] != '\n')
            end++;
        while (start < end && (text[start] == '>' || (start > at && text[start] == ' ' &&
                                                      start + 1 < end && text[start + 1] == '>')))
            start++;
        if (start > at && start < end && text[start] == ' ')
            start++;
        repairs->quotes += start > at;
        memmove(text + used, text + start, end - start);
        used += end - start;
        if (end < size)
            text[used++] = '\n';
        at = end + 1;
    }
    return used;
}

char *text_repair(const char *bytes, size_t size, struct text_repairs *repairs)
{
    char *text = malloc(size + 1);

    memset(repairs, 0, sizeof(*repairs));
    if (!text) {
        err_no_memory();
        return NULL;
    }
    size_t used = unquote(text, decode(bytes, size, text, repairs), repairs);
    text[used] = '\0';
    return text;
}
