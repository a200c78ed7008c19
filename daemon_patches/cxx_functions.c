/* SPDX-License-Identifier: MIT */
#include "cxx_functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

#define MAX_SCOPES 64
#define MAX_NAME   512

struct search {
    const struct cxx_code *code;
    const char *function, *signature;
    size_t lengths[MAX_SCOPES]; /* of `name`, outside each scope that is open */
    size_t depth;
    char name[MAX_NAME]; /* the scopes that are open: "a::b::" */
    int found;
    unsigned first_line;
    struct cxx_body body;
};

static bool is(const struct search *search, size_t at, const char *text)
{
    if (at >= search->code->count)
        return false;
    const struct cxx_token *row = &search->code->rows[at];
    size_t length = strlen(text);
    return row->end - row->begin == length &&
           memcmp(search->code->source + row->begin, text, length) == 0;
}

static bool is_any(const struct search *search, size_t at, const char *const *texts)
{
    for (; *texts; texts++)
        if (is(search, at, *texts))
            return true;
    return false;
}

static bool is_word(const struct search *search, size_t at)
{
    return at < search->code->count && search->code->rows[at].kind == CXX_WORD;
}

/* Appends; what does not fit can match no function of ours. */
static void append(char *name, const struct search *search, size_t at)
{
    const struct cxx_token *row = &search->code->rows[at];
    size_t used = strlen(name);
    snprintf(name + used, MAX_NAME - used, "%.*s", (int)(row->end - row->begin),
             search->code->source + row->begin);
}

/* Behind the > that closes the < at row `at`; `at` itself when none does. */
static size_t skip_angles(const struct search *search, size_t at, size_t end)
{
    int depth = 0;
    for (size_t i = at; i < end; i++) {
        if (is(search, i, "("))
            i = cxx_code_match(search->code, i);
        else if (is(search, i, "<"))
            depth++;
        else if (is(search, i, ">") && --depth == 0)
            return i + 1;
    }
    return at;
}

/* What may follow the parameters of a function before its body. An & stands behind them as the
 * last of them; in front of a name it belongs to a type. */
static bool ends_parameters(const struct search *search, size_t at, size_t end)
{
    static const char *const behind[] = {":",        "->",       "const",         "volatile",
                                         "throw",    "noexcept", "final",         "try",
                                         "override", "requires", "__attribute__", NULL};
    for (size_t i = 0; i < 2 && is(search, at, "&"); i++)
        at++;
    return at >= end || is_any(search, at, behind) || (is_word(search, at) && at + 1 == end);
}

/* Whether the parenthesis at row `at` belongs to such a word: no parameters. */
static bool is_attribute(const struct search *search, size_t at)
{
    static const char *const words[] = {"__attribute__", "alignas",  "decltype", "noexcept",
                                        "explicit",      "__typeof", "typeof",   NULL};
    return at > 0 && is_any(search, at - 1, words);
}

/* Behind the name of the operator whose word stands at row `at`: its parameters. */
static size_t skip_operator(const struct search *search, size_t at, size_t end)
{
    at++;
    if (is(search, at, "(") && is(search, at + 1, ")"))
        at += 2;
    while (at < end && !is(search, at, "("))
        at++;
    return at < end ? at : end;
}

/* The row of the parenthesis that opens the parameters; `end` when this is no function. */
static size_t find_parameters(const struct search *search, size_t start, size_t end)
{
    for (size_t i = start; i < end; i++) {
        if (is(search, i, "template") && is(search, i + 1, "<"))
            i = skip_angles(search, i + 1, end) - 1;
        if (is(search, i, "operator"))
            return skip_operator(search, i, end);
        if (is(search, i, "="))
            return end;
        if (!is(search, i, "("))
            continue;
        size_t close = cxx_code_match(search->code, i);
        if (close >= end)
            return end;
        if (i > start && !is_attribute(search, i) && ends_parameters(search, close + 1, end))
            return i;
        i = close;
    }
    return end;
}

/* The row where a name begins that is more than a word: that of `operator`, or of the macro in
 * MACRO(name)(parameters); the parenthesis when it is a word. */
static size_t odd_name(const struct search *search, size_t start, size_t parenthesis)
{
    for (size_t i = parenthesis; i > start && parenthesis - i < 8; i--)
        if (is(search, i - 1, "operator"))
            return i - 1;
    size_t at = parenthesis;
    if (at > start && is(search, at - 1, ")"))
        for (at--; at > start && !is(search, at, "(");)
            at--;
    return at > start && at < parenthesis && is_word(search, at - 1) ? at - 1 : parenthesis;
}

/* Appends rows [begin, end) to the name; words that stand side by side keep a blank. */
static void append_rows(char *name, const struct search *search, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        size_t used = strlen(name);
        if (i > begin && is_word(search, i) && is_word(search, i - 1))
            snprintf(name + used, MAX_NAME - used, " ");
        append(name, search, i);
    }
}

/* Puts the qualified name that ends before the parenthesis behind the scopes. */
static void function_name(const struct search *search, size_t start, size_t parenthesis, char *name)
{
    size_t odd = odd_name(search, start, parenthesis), at = odd;
    size_t parts[32], count = 0;
    bool goes_on = odd == parenthesis || (odd > start && is(search, odd - 1, "::"));
    if (odd < parenthesis && goes_on)
        at--;
    while (goes_on && at > start && count < 32) {
        at--;
        if (is(search, at, ">")) { /* template arguments have no part in the name */
            int depth = 1;
            while (at > start && depth > 0) {
                at--;
                depth += is(search, at, ">") - is(search, at, "<");
            }
            continue;
        }
        if (!is_word(search, at))
            break;
        parts[count++] = at;
        if (at > start && is(search, at - 1, "~"))
            parts[count < 32 ? count++ : count - 1] = --at;
        if (at == start || !is(search, at - 1, "::"))
            break;
        at--;
    }
    snprintf(name, MAX_NAME, "%s", search->name);
    while (count-- > 0) {
        append(name, search, parts[count]);
        size_t used = strlen(name);
        if ((count > 0 || odd < parenthesis) && !is(search, parts[count], "~"))
            snprintf(name + used, MAX_NAME - used, "::");
    }
    append_rows(name, search, odd, parenthesis);
}

static bool has_signature(const struct search *search, size_t open)
{
    size_t close = cxx_code_match(search->code, open);
    for (size_t i = open; search->signature && i <= close; i++)
        if (cxx_code_spells(search->code, i, search->signature))
            return true;
    return !search->signature;
}

static void take_function(struct search *search, size_t start, size_t parameters, size_t brace,
                          size_t close)
{
    char name[MAX_NAME];
    function_name(search, start, parameters, name);
    if (strcmp(name, search->function) != 0 || !has_signature(search, parameters))
        return;
    if (search->found++ == 0) {
        search->body = (struct cxx_body){brace, close};
        search->first_line = search->code->rows[brace].line;
    }
}

/* Opens a namespace or class whose name is the last word in [start, end) before a ':'. */
static int open_scope(struct search *search, size_t start, size_t end)
{
    if (search->depth == MAX_SCOPES)
        return err_set(EINVAL, "line %u: more than %d scopes within each other",
                       search->code->rows[start].line, MAX_SCOPES);
    search->lengths[search->depth++] = strlen(search->name);
    size_t name = end, first = end;
    for (size_t i = start + 1; i < end && !is(search, i, ":"); i++) {
        if (is(search, i, "<"))
            i = skip_angles(search, i, end) - 1 > i ? skip_angles(search, i, end) - 1 : i;
        else if (is_word(search, i) && !is(search, i, "final")) {
            bool goes_on = name != end && is(search, i - 1, "::");
            name = i;
            if (!goes_on)
                first = i;
        }
    }
    for (size_t i = first; name != end && i <= name; i++)
        append(search->name, search, i);
    size_t used = strlen(search->name);
    if (name != end)
        snprintf(search->name + used, MAX_NAME - used, "::");
    return 0;
}

/* Behind template heads and the macro calls without semicolon that stand in front. */
static size_t skip_front(const struct search *search, size_t start, size_t end)
{
    for (;;) {
        size_t next = start;
        if (is(search, start, "template") && is(search, start + 1, "<"))
            next = skip_angles(search, start + 1, end);
        else if (is_word(search, start) && is(search, start + 1, "(")) {
            size_t close = cxx_code_match(search->code, start + 1);
            if (close < end && is_word(search, close + 1) &&
                !ends_parameters(search, close + 1, end))
                next = close + 1;
        } else if (is(search, start, "inline") || is(search, start, "typedef") ||
                   is(search, start, "static"))
            next = start + 1;
        if (next <= start || next >= end)
            return start;
        start = next;
    }
}

/* Whether [start, end) is the head of a class: no parameters before a ':'. */
static bool is_class(const struct search *search, size_t start, size_t end)
{
    static const char *const words[] = {"class", "struct", "union", NULL};
    if (!is_any(search, start, words))
        return false;
    for (size_t i = start; i < end && !is(search, i, ":"); i++) {
        if (is(search, i, "(") && is_attribute(search, i))
            i = cxx_code_match(search->code, i);
        else if (is(search, i, "(") || is(search, i, "="))
            return false;
    }
    return true;
}

/* A brace of a constructor's list, x{1}, follows a name; the body's does not. */
static bool is_initializer(const struct search *search, size_t parameters, size_t brace)
{
    size_t behind = cxx_code_match(search->code, parameters) + 1;
    while (behind < brace && !is(search, behind, ":"))
        behind++;
    return behind < brace && (is_word(search, brace - 1) || is(search, brace - 1, ">")) &&
           !is(search, brace - 1, "try");
}

/* Takes the brace at row `at`, of the declaration that begins at `start`. Returns the row to go on
 * behind; *ended tells whether the declaration is over. */
static int take_brace(struct search *search, size_t start, size_t *at, bool *ended)
{
    size_t front = skip_front(search, start, *at);
    *ended = true;
    if (is(search, front, "namespace"))
        return open_scope(search, front, *at);
    if (is(search, front, "extern") && front + 2 == *at)
        return open_scope(search, *at, *at);
    if (is_class(search, front, *at))
        return open_scope(search, front, *at);
    size_t close = cxx_code_match(search->code, *at);
    if (close == search->code->count)
        return err_set(EINVAL, "line %u: the brackets behind this brace do not pair",
                       search->code->rows[*at].line);
    size_t parameters = find_parameters(search, front, *at);
    *ended = parameters != *at && !is_initializer(search, parameters, *at);
    if (*ended)
        take_function(search, front, parameters, *at, close);
    *at = close;
    return 0;
}

static int walk(struct search *search)
{
    static const char *const labels[] = {"public", "private", "protected", NULL};
    const struct cxx_code *code = search->code;
    size_t start = 0;
    for (size_t i = 0; i < code->count; i++) {
        bool ended = false;
        if (is(search, i, "{")) {
            int result = take_brace(search, start, &i, &ended);
            if (result)
                return result;
        } else if (is(search, i, "}")) {
            if (search->depth > 0)
                search->name[search->lengths[--search->depth]] = '\0';
            ended = true;
        } else if (is(search, i, "(") || is(search, i, "[")) {
            size_t close = cxx_code_match(code, i);
            if (close == code->count)
                return err_set(EINVAL, "line %u: this bracket is not closed", code->rows[i].line);
            i = close;
        } else {
            ended = is(search, i, ";") ||
                    (is(search, i, ":") && start + 1 == i && is_any(search, start, labels));
        }
        if (ended)
            start = i + 1;
    }
    return 0;
}

int cxx_function_find(const struct cxx_code *code, const char *function, const char *signature,
                      struct cxx_body *body)
{
    struct search search = {.code = code, .function = function, .signature = signature};
    int result = walk(&search);
    if (result)
        return result;
    if (search.found == 0)
        return err_set(ENOENT, "no body of %s%s%s%s is there", function, signature ? " with '" : "",
                       signature ? signature : "", signature ? "'" : "");
    if (search.found > 1)
        return err_set(EEXIST,
                       "%d bodies of %s are there, the first in line %u: a longer signature must "
                       "tell which",
                       search.found, function, search.first_line);
    *body = search.body;
    return 0;
}
