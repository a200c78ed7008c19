/* SPDX-License-Identifier: MIT */
#include "weave_anchor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

bool weave_is(const struct cxx_code *code, size_t at, const char *text)
{
    const struct cxx_token *row = &code->rows[at];
    size_t length = strlen(text);
    return row->end - row->begin == length && memcmp(code->source + row->begin, text, length) == 0;
}

#define is weave_is

/* How many lines a rule may have: each costs a look at the block around it. */
#define MAX_EVERY 1000

static bool is_any(const struct cxx_code *code, size_t at, const char *texts)
{
    const struct cxx_token *row = &code->rows[at];
    return row->kind == CXX_MARK && row->end - row->begin == 1 &&
           strchr(texts, code->source[row->begin]);
}

/* Whether the text stands at the row, and is a call, a declaration with arguments, or ends by
 * itself. 0, or the number of rows. */
static size_t anchor_at(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                        const struct weave_rule *rule)
{
    size_t rows = cxx_code_spells(code, at, rule->anchor);
    if (rows == 0 || at + rows > body->close)
        return 0;
    if (code->rows[at + rows - 1].kind == CXX_MARK)
        return rows;
    if (rule->position == WEAVE_IN)
        return is_any(code, at + rows, "({") ? rows : 0;
    return at + rows < body->close && is_any(code, at + rows, "({;") ? rows : 0;
}

/* The row behind the one place that spells rule->behind. */
static int find_behind(const struct cxx_code *code, const struct cxx_body *body,
                       const struct weave_rule *rule, size_t *start)
{
    unsigned found = 0, first = 0;
    for (size_t i = body->open + 1; i < body->close; i++) {
        size_t rows = cxx_code_spells(code, i, rule->behind);
        if (rows == 0 || i + rows > body->close)
            continue;
        if (found++ > 0)
            return err_set(EEXIST, "%s stands there more than once, in lines %u and %u",
                           rule->behind, first, code->rows[i].line);
        first = code->rows[i].line;
        *start = i + rows;
    }
    return found ? 0
                 : err_set(ENOENT, "'%s', behind which the call is looked for, is not in it",
                           rule->behind);
}

static int choose(const struct cxx_code *code, const struct weave_rule *rule, size_t *rows,
                  size_t *count)
{
    size_t which = rule->occurrence ? rule->occurrence : 1;
    if (*count == 0)
        return err_set(ENOENT, "no call of %s is in it", rule->anchor);
    if (rule->every && *count > MAX_EVERY)
        return err_set(E2BIG, "%s is called more than %d times in it", rule->anchor, MAX_EVERY);
    if (rule->every)
        return 0;
    if (which > *count)
        return err_set(ENOENT, "%s is called %zu times in it, not %zu", rule->anchor, *count,
                       which);
    if (!rule->occurrence && !rule->behind && *count > 1)
        return err_set(EEXIST,
                       "%s is called more than once, in lines %u and %u: behind, occurrence or "
                       "every must tell which",
                       rule->anchor, code->rows[rows[0]].line, code->rows[rows[1]].line);
    rows[0] = rows[which - 1];
    *count = 1;
    return 0;
}

int weave_anchors(const struct cxx_code *code, const struct cxx_body *body,
                  const struct weave_rule *rule, size_t **rows, size_t *count)
{
    size_t start = body->open + 1;
    int result = rule->behind ? find_behind(code, body, rule, &start) : 0;
    *count = 0;
    *rows = result ? NULL : calloc(body->close - body->open, sizeof(**rows));
    if (!*rows)
        return result ? result : err_no_memory();
    for (size_t i = start; i < body->close; i++) {
        size_t length = anchor_at(code, body, i, rule);
        if (length > 0)
            (*rows)[(*count)++] = i;
    }
    result = choose(code, rule, *rows, count);
    if (result) {
        free(*rows);
        *rows = NULL;
    }
    return result;
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
        depth += is_any(code, at, ")]}");
        depth -= is_any(code, at, "([{");
        if (depth == 0)
            break;
    }
    return at;
}

/* Whether the colon at row `at` ends a label: what stands before it is a case or one word. */
static bool is_label(const struct cxx_code *code, const struct cxx_body *body, size_t at)
{
    size_t i = at;
    for (; i > body->open + 1 && !is_any(code, i - 1, ";{}:"); i--) {
        if (is_any(code, i - 1, "([,?"))
            return false;
        if (is_any(code, i - 1, ")]"))
            i = match_back(code, i - 1, body->open) + 1;
    }
    return is(code, i, "case") || (i + 1 == at && code->rows[i].kind == CXX_WORD);
}

static bool ends_statement(const struct cxx_code *code, const struct cxx_body *body, size_t at)
{
    return is_any(code, at, ";{}") || (is_any(code, at, ":") && is_label(code, body, at));
}

/* The brace that is open at row `at`; 0 when another bracket is. */
static size_t block_around(const struct cxx_code *code, const struct cxx_body *body, size_t at)
{
    for (; at > body->open; at--) {
        if (is_any(code, at - 1, ")]}"))
            at = match_back(code, at - 1, body->open) + 1;
        else if (is_any(code, at - 1, "([{"))
            return is(code, at - 1, "{") ? at - 1 : 0;
    }
    return 0;
}

/* The word of an if or a switch whose parenthesis stands at row `at`, when a line may stand before
 * it and the call at row `call` is surely reached; 0 otherwise. */
static size_t head_of_if(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                         size_t call)
{
    size_t word = at > body->open ? at - 1 : at;
    if (!(is(code, word, "if") || is(code, word, "switch")) ||
        !ends_statement(code, body, word - 1))
        return 0;
    for (; at < call; at++)
        if (is_any(code, at, "&|?"))
            return 0;
    return word;
}

/* The first row of the statement. */
static int find_begin(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                      bool after, struct weave_statement *statement)
{
    unsigned line = code->rows[at].line;
    size_t i = at;
    for (; i > body->open + 1; i--) {
        size_t before = i - 1;
        if (ends_statement(code, body, before))
            break;
        if (is_any(code, before, ")]")) {
            i = match_back(code, before, body->open) + 1;
        } else if (is_any(code, before, "([,:?")) {
            size_t word = after ? 0 : head_of_if(code, body, before, at);
            if (word == 0)
                return err_set(EINVAL, "line %u: the call is a part of an expression", line);
            *statement = (struct weave_statement){.begin = word, .end = at};
            return 0;
        }
    }
    bool sure = i > body->open && !is_any(code, i - 1, "}"); /* no initializer ends before it */
    if (code->rows[i].kind != CXX_WORD && !is(code, i, "::") && !(sure && is_any(code, i, "*(+-")))
        return err_set(EINVAL, "line %u: the statement of the call begins oddly", line);
    *statement = (struct weave_statement){.begin = i};
    return 0;
}

static bool is_twice(const struct cxx_code *code, size_t at, const char *mark)
{
    return is(code, at, mark) && is(code, at + 1, mark) &&
           code->rows[at].end == code->rows[at + 1].begin;
}

static int find_end(const struct cxx_code *code, const struct cxx_body *body, unsigned line,
                    bool after, struct weave_statement *statement)
{
    for (size_t i = statement->begin; i < body->close; i++) {
        if (is_control(code, i, after))
            return err_set(EINVAL, "line %u: the call is not a statement of its own", line);
        if (is_any(code, i, "([{")) {
            i = cxx_code_match(code, i);
            if (i + 1 < body->close && is(code, i, ")") && code->rows[i + 1].kind == CXX_WORD)
                return err_set(EINVAL, "line %u: a macro may rule over the statement", line);
        } else if (is(code, i, ";")) {
            statement->end = i;
            return 0;
        } else if (is_any(code, i, "}?") || is_twice(code, i, "&") || is_twice(code, i, "|")) {
            break; /* the call may not be reached */
        }
    }
    return err_set(EINVAL, "line %u: the call is a part of an expression", line);
}

/* Whether the row begins a statement before which a line may stand, whatever it does. */
static bool begins_statement(const struct cxx_code *code, const struct cxx_body *body, size_t at)
{
    static const char *const words[] = {"else", "case", "default", "catch", NULL};
    for (int i = 0; words[i]; i++)
        if (is(code, at, words[i]))
            return false;
    if (!is(code, at, "while") || !is(code, at - 1, "}"))
        return true;
    size_t open = match_back(code, at - 1, body->open); /* of a do? */
    return !(open > body->open && is(code, open - 1, "do"));
}

int weave_statement(const struct cxx_code *code, const struct cxx_body *body, size_t at, bool after,
                    struct weave_statement *statement)
{
    unsigned line = code->rows[at].line;
    int result = find_begin(code, body, at, after, statement);
    if (result == 0 && !after && statement->begin == at && begins_statement(code, body, at))
        statement->end = at;
    if (result == 0 && statement->end == 0)
        result = find_end(code, body, line, after, statement);
    if (result)
        return result;
    statement->block = block_around(code, body, statement->begin);
    if (!is(code, statement->block, "{"))
        return err_set(EINVAL, "line %u: the call is a part of the head of a loop", line);
    size_t end = code->rows[statement->end].begin;
    for (size_t i = cxx_code_token(code, code->rows[statement->begin].begin);
         i < code->tokens.count && code->tokens.rows[i].begin < end; i++) {
        const struct cxx_token *row = &code->tokens.rows[i];
        if (row->kind == CXX_DIRECTIVE)
            return err_set(EINVAL, "line %u: a directive parts the statement", row->line);
    }
    return 0;
}

int weave_block(const struct cxx_code *code, const struct cxx_body *body, size_t at,
                const char *text, size_t *open)
{
    unsigned line = code->rows[at].line;
    size_t next = at + cxx_code_spells(code, at, text);
    *open = next - 1;
    if (is_any(code, next - 1, "{:"))
        return 0;
    if (next < body->close && is(code, next, "("))
        next = cxx_code_match(code, next) + 1;
    /* mutable, noexcept and the type that a lambda returns */
    while (next < body->close &&
           (code->rows[next].kind == CXX_WORD || is(code, next, "->") || is(code, next, "::")))
        next++;
    *open = next;
    if (next < body->close && is(code, next, "{"))
        return 0;
    return err_set(EINVAL, "line %u: no block stands behind %s", line, text);
}

int weave_declarable(const struct cxx_code *code, const struct cxx_body *body,
                     const struct weave_statement *statement)
{
    unsigned line = code->rows[statement->begin].line;
    size_t block = statement->block;
    if (block > body->open && is(code, block - 1, ")")) {
        size_t open = match_back(code, block - 1, body->open);
        if (open > body->open && is(code, open - 1, "switch"))
            return err_set(EINVAL, "line %u: no object may stand here, among the cases of a switch",
                           line);
    }
    for (size_t i = body->open; i < statement->begin; i++)
        if (is(code, i, "goto"))
            return err_set(EINVAL,
                           "line %u: no object may stand here: the goto in line %u may "
                           "pass by it",
                           line, code->rows[i].line);
    return 0;
}
