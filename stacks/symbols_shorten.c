/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "symbols.h"

/*
 * A demangled name is read once, from the left. Brackets are kept track of by depth; what stands
 * within (), [abi:...] and <> is left out, a return type is dropped when the blank behind it comes.
 */
struct shortening {
    const char *at;
    char *out;
    size_t length, size;
};

static void put(struct shortening *s, const char *text, size_t length)
{
    for (size_t i = 0; i < length && s->length + 1 < s->size; i++)
        s->out[s->length++] = text[i];
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Behind the bracket that closes the one at `at`; '>' of -> and of operators does not count. */
static const char *behind(const char *at, char open, char close)
{
    unsigned depth = 0;
    for (; *at; at++) {
        if (*at == open)
            depth++;
        else if (*at == close && !(close == '>' && at[-1] == '-') && --depth == 0)
            return at + 1;
    }
    return at;
}

/* The name of an operator has brackets and blanks of its own. Returns its length, 0: none. */
static size_t operator_length(const char *at, const char *begin)
{
    static const char *const symbols[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">"};
    if (!starts(at, "operator") || (at > begin && is_word(at[-1])))
        return 0;
    size_t length = strlen("operator");
    if (is_word(at[length]))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (starts(at + length, symbols[i]))
            return length + strlen(symbols[i]);
    /* operator new, operator bool: up to the arguments */
    return at[length] == ' ' ? strcspn(at, "(<") : length;
}

/* Words that a blank follows without being a return type. */
static bool introduces(const struct shortening *s)
{
    static const char *const words[] = {"thunk",  "to",  "for",         "guard",   "variable",
                                        "vtable", "VTT", "non-virtual", "virtual", "construction"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t length = strlen(words[i]);
        if (s->length >= length && memcmp(s->out + s->length - length, words[i], length) == 0 &&
            (s->length == length || s->out[s->length - length - 1] == ' '))
            return true;
    }
    return false;
}

/* {lambda(int)#1}, {unnamed type#1}: without the arguments. */
static void put_braced(struct shortening *s)
{
    const char *end = behind(s->at, '{', '}');
    while (s->at < end) {
        if (*s->at == '(') {
            s->at = behind(s->at, '(', ')');
            continue;
        }
        put(s, s->at++, 1);
    }
}

/* Arguments, and what follows them: " const", " [clone .cold]"; not of a function in which the
 * next is: f(int)::{lambda()#1}. */
static void skip_arguments(struct shortening *s)
{
    s->at = behind(s->at, '(', ')');
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (starts(s->at, qualifiers[i]))
            s->at += strlen(qualifiers[i]);
}

char *symbols_shorten(const char *demangled, char *out, size_t size)
{
    static const char anonymous[] = "(anonymous namespace)";
    struct shortening s = {.at = demangled, .out = out, .size = size};
    size_t operator_size;

    if (size == 0)
        return out;
    while (*s.at) {
        if (starts(s.at, anonymous)) {
            put(&s, "(anon)", strlen("(anon)"));
            s.at += strlen(anonymous);
        } else if ((operator_size = operator_length(s.at, demangled)) > 0) {
            put(&s, s.at, operator_size);
            s.at += operator_size;
        } else if (starts(s.at, "std::__cxx11::")) {
            put(&s, "std::", strlen("std::"));
            s.at += strlen("std::__cxx11::");
        } else if (*s.at == '(') {
            skip_arguments(&s);
        } else if (*s.at == '<') {
            put(&s, "<>", 2);
            s.at = behind(s.at, '<', '>');
        } else if (*s.at == '{') {
            put_braced(&s);
        } else if (starts(s.at, "[abi:") || starts(s.at, "[clone ")) {
            s.at = behind(s.at, '[', ']');
        } else if (*s.at == ' ' && (starts(s.at + 1, "[clone ") || s.at[1] == '<')) {
            s.at++;
        } else if (*s.at == ' ' && !introduces(&s)) {
            s.length = 0; /* that was a return type */
            s.at++;
        } else {
            put(&s, s.at++, 1);
        }
    }
    if (s.length == 0) /* a form that is not known */
        put(&s, demangled, strlen(demangled));
    out[s.length] = '\0';
    return out;
}
