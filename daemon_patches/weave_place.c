/* SPDX-License-Identifier: MIT */
#include "weave_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave_anchor.h"

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
    for (size_t i = cxx_code_token(code, at); i < tokens->count; i++) {
        const struct cxx_token *row = &tokens->rows[i];
        if (row->begin >= *offset)
            break;
        if (row->kind != CXX_COMMENT || row->end > *offset)
            return err_set(EINVAL, "line %u: more stands on the line behind it", line);
    }
    size_t last = *offset - 1;
    last -= last > at && code->source[last - 1] == '\r';
    if (last > at && code->source[last - 1] == '\\')
        return err_set(EINVAL, "line %u: the line goes on in the next", line);
    return 0;
}

/* Before the line of the token, when it is the first of it. */
static int line_of(const struct cxx_code *code, const struct cxx_token *first, size_t *offset)
{
    *offset = line_begin(code, first->begin);
    for (size_t i = *offset; i < first->begin; i++)
        if (code->source[i] != ' ' && code->source[i] != '\t')
            return err_set(EINVAL, "line %u: more stands on the line before it", first->line);
    size_t above = *offset - 1; /* a body has a line above, or its brace stands on this one */
    above -= above > 0 && code->source[above - 1] == '\r';
    if (above > 0 && code->source[above - 1] == '\\')
        return err_set(EINVAL, "line %u: the line above goes on in it", first->line);
    return 0;
}

static int add_spot(const struct cxx_code *code, struct weave_spots *spots, size_t offset,
                    size_t indent, enum weave_text text)
{
    for (size_t i = 0; i < code->guard_count; i++)
        if (offset > code->guards[i].begin && offset <= code->guards[i].end)
            return err_set(EINVAL, "it stands in an #if whose branches open a bracket each");
    struct weave_spot *rows = reallocarray(spots->rows, spots->count + 1, sizeof(*rows));
    if (!rows)
        return err_no_memory();
    spots->rows = rows;
    rows[spots->count++] = (struct weave_spot){offset, indent, text};
    return 0;
}

/* The line behind the row that opens a block. */
static int place_in(const struct cxx_code *code, size_t size, size_t open,
                    struct weave_spots *spots)
{
    size_t offset;
    const struct cxx_token *row = &code->rows[open];
    int result = next_line(code, size, row->end, row->line, &offset);
    return result ? result : add_spot(code, spots, offset, offset, WEAVE_PROBE);
}

static int place_before(const struct cxx_code *code, const struct weave_statement *statement,
                        enum weave_text text, struct weave_spots *spots)
{
    size_t offset;
    int result = line_of(code, &code->rows[statement->begin], &offset);
    return result ? result : add_spot(code, spots, offset, offset, text);
}

static int place_after(const struct cxx_code *code, size_t size,
                       const struct weave_statement *statement, enum weave_text text,
                       struct weave_spots *spots)
{
    size_t offset;
    const struct cxx_token *first = &code->rows[statement->begin];
    const struct cxx_token *last = &code->rows[statement->end];
    int result = next_line(code, size, last->end, last->line, &offset);
    return result ? result : add_spot(code, spots, offset, line_begin(code, first->begin), text);
}

static int place_around(const struct cxx_code *code, size_t size, const struct cxx_body *body,
                        const struct weave_rule *rule, const struct weave_statement *statement,
                        struct weave_spots *spots)
{
    int result = 0;
    if (rule->texts[WEAVE_TEXT_BEFORE])
        result = place_before(code, statement, WEAVE_TEXT_BEFORE, spots);
    if (result == 0 && rule->texts[WEAVE_TEXT_AFTER])
        result = place_after(code, size, statement, WEAVE_TEXT_AFTER, spots);
    if (result == 0 && rule->texts[WEAVE_TEXT_LEAVE]) {
        result = weave_declarable(code, body, statement);
        if (result == 0)
            result = place_after(code, size, statement, WEAVE_TEXT_LEAVE, spots);
    }
    return result;
}

static int place_anchor(const struct cxx_code *code, size_t size, const struct cxx_body *body,
                        const struct weave_rule *rule, size_t at, struct weave_spots *spots)
{
    struct weave_statement statement;
    size_t open;
    if (rule->position == WEAVE_IN) {
        int result = weave_block(code, body, at, rule->anchor, &open);
        return result ? result : place_in(code, size, open, spots);
    }
    bool after = rule->position != WEAVE_BEFORE;
    int result = weave_statement(code, body, at, after, &statement);
    if (result)
        return result;
    if (rule->position == WEAVE_AROUND)
        return place_around(code, size, body, rule, &statement, spots);
    return after ? place_after(code, size, &statement, WEAVE_PROBE, spots)
                 : place_before(code, &statement, WEAVE_PROBE, spots);
}

/* The first of the alternatives that has a body. */
static int find_function(const struct cxx_code *code, const struct weave_rule *rule,
                         struct cxx_body *body, const char **function)
{
    int result = -ENOENT;
    size_t signatures = rule->signatures.count;
    for (size_t i = 0; i < rule->functions.count; i++)
        for (size_t k = 0; k < (signatures ? signatures : 1); k++) {
            *function = rule->functions.rows[i];
            result = cxx_function_find(code, *function, rule->signatures.rows[k], body);
            if (result != -ENOENT)
                return result;
        }
    return result;
}

int weave_place(const struct cxx_code *code, size_t size, const struct weave_rule *rule,
                struct weave_spots *spots)
{
    struct cxx_body body;
    size_t *anchors = NULL, count = 0;
    *spots = (struct weave_spots){0};
    int result = find_function(code, rule, &body, &spots->function);
    if (result == 0 && !rule->anchor)
        result = place_in(code, size, body.open, spots);
    else if (result == 0)
        result = weave_anchors(code, &body, rule, &anchors, &count);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = place_anchor(code, size, &body, rule, anchors[i], spots);
    free(anchors);
    if (result) {
        free(spots->rows);
        *spots = (struct weave_spots){0};
    }
    return result;
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
