/* SPDX-License-Identifier: MIT */
#include "flame_out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "escape.h"

/* Printable ASCII, as most names are: nothing to escape. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* The text escaped; freed by the caller if it is not `room`. */
static char *escaped(const char *text, void (*escape)(const char *, char *, size_t), char *room,
                     size_t size)
{
    size_t needed = 4 * strlen(text) + 8;
    char *to = needed <= size ? room : malloc(needed);
    if (!to) { /* the longest part that there is room for */
        to = room;
        needed = size;
    }
    escape(text, to, needed);
    return to;
}

static void for_terminal(const char *text, char *out, size_t size)
{
    escape_for_terminal(text, out, size);
}

void flame_out_xml(const char *text, FILE *out)
{
    char room[4096];
    const char *sound = is_plain(text) ? text : escaped(text, for_terminal, room, sizeof(room));
    for (const char *at = sound; *at;) {
        size_t plain = strcspn(at, "<>&\"'");
        fwrite(at, 1, plain, out);
        at += plain;
        switch (*at) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            break;
        }
        at += *at ? 1 : 0;
    }
    if (sound != room && sound != text)
        free((void *)(uintptr_t)sound);
}

char *flame_out_utf8(const char *text, char *room, size_t size)
{
    return escaped(text, escape_for_json, room, size);
}

void flame_out_json(const char *text, FILE *out)
{
    char room[4096];
    char *sound = escaped(text, escape_for_json, room, sizeof(room));
    fputc('"', out);
    for (const char *at = sound; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if ((unsigned char)*at < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
    if (sound != room)
        free(sound);
}

int flame_out_check(FILE *out)
{
    errno = 0;
    if (fflush(out) == EOF || ferror(out))
        return err_set(errno ? errno : EIO, "cannot be written: %s",
                       errno ? strerror(errno) : "input/output error");
    return 0;
}
