/* SPDX-License-Identifier: MIT */
#include "demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What __cxa_demangle is made of, in libstdc++.a: it hands the name over in pieces, so that it can
 * be left when they are too many. It holds nothing but stack at that time. Pieces may be empty or a
 * byte long, and time goes by them. */
extern int __gcclibcxx_demangle_callback(const char *mangled,
                                         void (*callback)(const char *, size_t, void *),
                                         void *context);

struct demangled {
    char *text; /* DEMANGLED_MAX bytes */
    size_t length;
    jmp_buf enough;
};

static void take_piece(const char *piece, size_t size, void *context)
{
    struct demangled *demangled = context;
    if (size >= DEMANGLED_MAX - demangled->length)
        longjmp(demangled->enough, 1);
    memcpy(demangled->text + demangled->length, piece, size);
    demangled->length += size;
}

static bool try_to_demangle(const char *name, struct demangled *demangled)
{
    if (setjmp(demangled->enough) != 0)
        return false;
    if (__gcclibcxx_demangle_callback(name, take_piece, demangled) != 0)
        return false;
    demangled->text[demangled->length] = '\0';
    return true;
}

static char *printable(char *text)
{
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '_';
    return text;
}

char *demangle(const char *name)
{
    size_t length = strnlen(name, MANGLED_MAX);
    if (length == MANGLED_MAX || strncmp(name, "_Z", 2) != 0)
        return printable(strndup(name, length));
    struct demangled *demangled = malloc(sizeof(*demangled));
    char *text = NULL;
    if (demangled) {
        demangled->length = 0;
        demangled->text = malloc(DEMANGLED_MAX);
        if (demangled->text && try_to_demangle(name, demangled))
            text = strdup(demangled->text);
        free(demangled->text);
    }
    free(demangled);
    return printable(text ? text : strdup(name));
}

char *demangle_symbol(const char *symbol)
{
    char *name = strndup(symbol, strcspn(symbol, "@"));
    char *whole = name ? demangle(name) : NULL;
    free(name);
    return whole;
}
