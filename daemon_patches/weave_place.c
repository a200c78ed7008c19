/* SPDX-License-Identifier: MIT */
#include "weave_place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "err.h"

static bool is(const struct cxx_code *code, size_t at, const char *text)
{
    const struct cxx_token *row = &code->rows[at];
    size_t length = strlen(text);
    return row->end - row->begin == length && memcmp(code->source + row->begin, text, length) == 0;
}

static size_t line_begin(const struct cxx_code *code, size_t at)
{
    while (at > 0 && code->source[at - 1] != '\n')
        at--;
    return at;
}

/* Behind the line's end, when only blanks and whole comments stand behind `at`. */
static int next_line(const struct cxx_code *code, size_t size, size_t at, unsigned line,
                     size_t *offset)
{
    const struct cxx_tokens *tokens = &code->tokens;
    const char *end = memchr(code->source + at, '\n', size - at);
    if (!end)
        return err_set(EINVAL, "line %u: the file ends behind it", line);
    *offset = (size_t)(end - code->source) + 1;
    for (size_t i = 0; i < tokens->count; i++) {
        const struct cxx_token *row = &tokens->rows[i];
        if (row->end <= at || row->begin >= *offset)
            continue;
        if (row->kind != CXX_COMMENT || row->end > *offset)
            return err_set(EINVAL, "line %u: more stands on the line behind it", line);
    }
    size_t last = *offset - 1;
    last -= last > at && code->source[last - 1] == '\r';
    if (last > at && code->source[last - 1] == '\\')
        return err_set(EINVAL, "line %u: the line goes on in the next", line);
    return 0;
}

/* Words of a statement that a line before or behind it would be torn from. */
static bool is_control(const struct cxx_code *code, size_t at, bool after)
{
    static const char *const words[] = {"return", "goto",    "throw", "co_return", "if",
                                        "else",   "for",     "while", "do",        "switch",
                                        "case",   "default", "try",   "catch",     NULL};
    for (int i = after ? 0 : 4; words[i]; i++)
        if (is(code, at, words[i]))
            return true;
    return false;
}

/* The row of the bracket that opens what the one at row `at` closes. */
static size_t match_back(const struct cxx_code *code, size_t at, size_t open)
{
    int depth = 0;
    for (; at > open; at--) {
        depth += is(code, at, ")") || is(code, at, "]") || is(code, at, "}");
        depth -= is(code, at, "(") || is(code, at, "[") || is(code, at, "{");
        if (depth == 0)
            break;
    }
    return at;
}

/* The whole statement [*begin, *end] (*end is its semicolon) that the call at row `at` is in. */
static int find_statement(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                          bool after, size_t *begin, size_t *end)
{
    unsigned line = code->rows[at].line;
    size_t i = at;
    for (; i > body->open + 1; i--) {
        size_t before = i - 1;
        if (is(code, before, ";") || is(code, before, "{") || is(code, before, "}"))
            break;
        if (is(code, before, ")") || is(code, before, "]"))
            i = match_back(code, before, body->open) + 1;
        else if (is(code, before, "(") || is(code, before, "[") || is(code, before, ",") ||
                 is(code, before, ":") || is(code, before, "?"))
            return err_set(EINVAL, "line %u: the call is a part of an expression", line);
    }
    *begin = i;
    if (code->rows[i].kind != CXX_WORD && !is(code, i, "::"))
        return err_set(EINVAL, "line %u: the statement of the call begins oddly", line);
    for (; i < body->close; i++) {
        if (is_control(code, i, after))
            return err_set(EINVAL, "line %u: the call is not a statement of its own", line);
        if (is(code, i, "(") || is(code, i, "[") || is(code, i, "{")) {
            i = cxx_code_match(code, i);
            if (i + 1 < body->close && is(code, i, ")") && code->rows[i + 1].kind == CXX_WORD)
                return err_set(EINVAL, "line %u: a macro may rule over the statement", line);
        } else if (is(code, i, ";")) {
            *end = i;
            return 0;
        } else if (is(code, i, "}") || is(code, i, "?") || is(code, i, "&")) {
            break; /* the call may not be reached */
        }
    }
    return err_set(EINVAL, "line %u: the call is a part of an expression", line);
}

static int no_directive(const struct cxx_code *code, size_t begin, size_t end)
{
    for (size_t i = 0; i < code->tokens.count; i++) {
        const struct cxx_token *row = &code->tokens.rows[i];
        if (row->kind == CXX_DIRECTIVE && row->begin > code->rows[begin].begin &&
            row->end < code->rows[end].begin)
            return err_set(EINVAL, "line %u: a directive parts the statement", row->line);
    }
    return 0;
}

static int find_call(const struct cxx_code *code, const struct cxx_body *body, const char *anchor,
                     size_t *call)
{
    size_t found = 0;
    for (size_t i = body->open + 1; i < body->close; i++) {
        size_t rows = cxx_code_spells(code, i, anchor);
        if (rows == 0 || i + rows >= body->close || !is(code, i + rows, "("))
            continue;
        if (found++ > 0)
            return err_set(EEXIST, "%s is called more than once, in lines %u and %u", anchor,
                           code->rows[*call].line, code->rows[i].line);
        *call = i;
    }
    return found ? 0 : err_set(ENOENT, "no call of %s is in it", anchor);
}

int weave_place(const struct cxx_code *code, size_t size, const struct weave_rule *rule,
                size_t *offset, size_t *indent)
{
    struct cxx_body body;
    size_t call = 0, begin = 0, end = 0;
    int result = cxx_function_find(code, rule->function, rule->signature, &body);
    if (result)
        return result;
    const struct cxx_token *open = &code->rows[body.open];
    if (!rule->anchor) {
        result = next_line(code, size, open->end, open->line, offset);
        *indent = *offset;
        return result;
    }
    result = find_call(code, &body, rule->anchor, &call);
    if (result == 0)
        result = find_statement(code, &body, call, rule->position == WEAVE_AFTER, &begin, &end);
    if (result == 0)
        result = no_directive(code, begin, end);
    if (result)
        return result;
    const struct cxx_token *first = &code->rows[begin], *last = &code->rows[end];
    *indent = line_begin(code, first->begin);
    if (rule->position == WEAVE_AFTER)
        return next_line(code, size, last->end, last->line, offset);
    for (size_t i = *indent; i < first->begin; i++)
        if (code->source[i] != ' ' && code->source[i] != '\t')
            return err_set(EINVAL, "line %u: more stands on the line before it", first->line);
    *offset = *indent;
    size_t above = *offset - 1; /* a body has a line above, or its brace stands on this one */
    above -= above > 0 && code->source[above - 1] == '\r';
    if (above > 0 && code->source[above - 1] == '\\')
        return err_set(EINVAL, "line %u: the line above goes on in it", first->line);
    return 0;
}

/* Whether the directive's word is `word`. */
static bool directs(const struct cxx_code *code, const struct cxx_token *row, const char *word)
{
    size_t at = row->begin + 1, length = strlen(word);
    while (at < row->end && (code->source[at] == ' ' || code->source[at] == '\t'))
        at++;
    return row->end - at >= length && memcmp(code->source + at, word, length) == 0;
}

int weave_include_place(const struct cxx_code *code, size_t size, size_t *offset)
{
    const struct cxx_token *last = NULL;
    int depth = 0, base = 0, directives = 0;
    for (size_t i = 0; i < code->tokens.count; i++) {
        const struct cxx_token *row = &code->tokens.rows[i];
        if (row->kind == CXX_COMMENT)
            continue;
        if (row->kind != CXX_DIRECTIVE)
            break;
        if (directs(code, row, "if"))
            depth++;
        else if (directs(code, row, "endif")) {
            if (--depth < base) { /* it did not span the file */
                base = 0;
                last = NULL;
            }
        } else if (directs(code, row, "define") && directives == 1 && depth == 1)
            base = 1;
        else if (directs(code, row, "include") && depth == base)
            last = row;
        directives++;
    }
    if (!last)
        return err_set(EINVAL, "no #include outside of #if stands at its top, to put ours behind");
    return next_line(code, size, last->end, last->line, offset);
}
