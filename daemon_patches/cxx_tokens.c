/* SPDX-License-Identifier: MIT */
#include "cxx_tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

struct cutter {
    const char *source;
    size_t size, at;
    unsigned line;
    bool line_start; /* nothing but white space and comments on this line so far */
};

static char peek(const struct cutter *cutter, size_t ahead)
{
    return ahead < cutter->size - cutter->at ? cutter->source[cutter->at + ahead] : '\0';
}

static void step(struct cutter *cutter)
{
    if (cutter->source[cutter->at++] == '\n')
        cutter->line++;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Bytes above ASCII are letters: UTF-8 in names, and harmless elsewhere. */
static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) ||
           byte == '_' || byte == '$' || (unsigned char)byte >= 0x80;
}

/* How many bytes a backslash and the line's end after it are; 0 if none stands here. */
static size_t line_splice(const struct cutter *cutter)
{
    if (peek(cutter, 0) != '\\')
        return 0;
    if (peek(cutter, 1) == '\n')
        return 2;
    return peek(cutter, 1) == '\r' && peek(cutter, 2) == '\n' ? 3 : 0;
}

static void step_many(struct cutter *cutter, size_t count)
{
    while (count-- > 0)
        step(cutter);
}

static bool at_line_end(const struct cutter *cutter)
{
    return cutter->at == cutter->size || peek(cutter, 0) == '\n' ||
           (peek(cutter, 0) == '\r' && peek(cutter, 1) == '\n');
}

static int cut_block_comment(struct cutter *cutter)
{
    unsigned line = cutter->line;
    step_many(cutter, 2);
    while (cutter->at < cutter->size) {
        if (peek(cutter, 0) == '*' && peek(cutter, 1) == '/') {
            step_many(cutter, 2);
            return 0;
        }
        step(cutter);
    }
    return err_set(EINVAL, "line %u: the comment does not end", line);
}

/* A backslash at a line's end goes on with the comment. */
static void cut_line_comment(struct cutter *cutter)
{
    while (!at_line_end(cutter)) {
        size_t splice = line_splice(cutter);
        step_many(cutter, splice ? splice : 1);
    }
}

/* R"delimiter( anything )delimiter", where `at` is on the quote. */
static int cut_raw(struct cutter *cutter)
{
    unsigned line = cutter->line;
    size_t length = 1;
    while (length <= 17 && peek(cutter, length) != '(' && cutter->at + length < cutter->size)
        length++;
    const char *delimiter = cutter->source + cutter->at + 1;
    if (peek(cutter, length) != '(')
        return err_set(EINVAL, "line %u: a raw string without its parenthesis", line);
    size_t name = length - 1;
    step_many(cutter, length + 1);
    for (; cutter->at < cutter->size; step(cutter)) {
        if (peek(cutter, 0) != ')' || cutter->size - cutter->at < name + 2)
            continue;
        const char *end = cutter->source + cutter->at + 1;
        if (memcmp(end, delimiter, name) == 0 && end[name] == '"') {
            step_many(cutter, name + 2);
            return 0;
        }
    }
    return err_set(EINVAL, "line %u: the raw string does not end", line);
}

static int cut_quoted(struct cutter *cutter)
{
    unsigned line = cutter->line;
    char quote = peek(cutter, 0);
    step(cutter);
    while (!at_line_end(cutter)) {
        size_t splice = line_splice(cutter);
        char byte = peek(cutter, 0);
        if (splice) {
            step_many(cutter, splice);
            continue;
        }
        step(cutter);
        if (byte == quote)
            return 0;
        if (byte == '\\' && !at_line_end(cutter))
            step(cutter);
    }
    return err_set(EINVAL, "line %u: the literal does not end on its line", line);
}

/* An apostrophe in #error and the like is no literal: only comments matter in a directive. */
static int cut_directive(struct cutter *cutter)
{
    while (!at_line_end(cutter)) {
        size_t splice = line_splice(cutter);
        if (splice) {
            step_many(cutter, splice);
        } else if (peek(cutter, 0) == '/' && peek(cutter, 1) == '*') {
            int result = cut_block_comment(cutter);
            if (result)
                return result;
        } else if (peek(cutter, 0) == '/' && peek(cutter, 1) == '/') {
            cut_line_comment(cutter);
        } else if (peek(cutter, 0) == '"') {
            if (cut_quoted(cutter)) /* an unpaired quote in #error: the rest of the line */
                continue;
        } else {
            step(cutter);
        }
    }
    return 0;
}

static bool is_prefix(const char *word, size_t length, bool *raw)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strlen(prefixes[i]) == length && memcmp(prefixes[i], word, length) == 0) {
            *raw = word[length - 1] == 'R';
            return true;
        }
    return false;
}

static int cut_word(struct cutter *cutter, struct cxx_token *token)
{
    const char *word = cutter->source + cutter->at;
    while (cutter->at < cutter->size && is_word(peek(cutter, 0)))
        step(cutter);
    bool raw = false;
    char next = peek(cutter, 0);
    token->kind = CXX_WORD;
    if ((next != '"' && next != '\'') ||
        !is_prefix(word, (size_t)(cutter->source + cutter->at - word), &raw) ||
        (raw && next != '"'))
        return 0;
    token->kind = CXX_TEXT;
    return raw ? cut_raw(cutter) : cut_quoted(cutter);
}

static void cut_number(struct cutter *cutter)
{
    char before = '\0';
    for (; cutter->at < cutter->size; step(cutter)) {
        char byte = peek(cutter, 0);
        bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
        if (!is_word(byte) && byte != '.' && !((byte == '+' || byte == '-') && exponent) &&
            !(byte == '\'' && is_word(peek(cutter, 1))))
            return;
        before = byte;
    }
}

static int cut_token(struct cutter *cutter, struct cxx_token *token)
{
    char first = peek(cutter, 0), second = peek(cutter, 1);
    bool line_start = cutter->line_start;
    token->begin = cutter->at;
    token->line = cutter->line;
    cutter->line_start = false;
    if (first == '/' && (second == '*' || second == '/')) {
        token->kind = CXX_COMMENT;
        cutter->line_start = line_start;
        if (second == '*')
            return cut_block_comment(cutter);
        cut_line_comment(cutter);
        return 0;
    }
    if (first == '#' && line_start) {
        token->kind = CXX_DIRECTIVE;
        return cut_directive(cutter);
    }
    if (is_digit(first) || (first == '.' && is_digit(second))) {
        token->kind = CXX_NUMBER;
        cut_number(cutter);
        return 0;
    }
    if (first == '"' || first == '\'') {
        token->kind = CXX_TEXT;
        return cut_quoted(cutter);
    }
    if (is_word(first))
        return cut_word(cutter, token);
    token->kind = CXX_MARK;
    step_many(cutter, (first == ':' && second == ':') || (first == '-' && second == '>') ? 2 : 1);
    return 0;
}

static bool skip_space(struct cutter *cutter)
{
    while (cutter->at < cutter->size) {
        char byte = peek(cutter, 0);
        size_t splice = line_splice(cutter);
        if (splice) {
            step_many(cutter, splice);
        } else if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
            cutter->line_start |= byte == '\n';
            step(cutter);
        } else {
            return true;
        }
    }
    return false;
}

int cxx_tokens_read(const char *source, size_t size, struct cxx_tokens *tokens)
{
    struct cutter cutter = {.source = source, .size = size, .line = 1, .line_start = true};
    size_t room = 0;
    *tokens = (struct cxx_tokens){0};
    while (skip_space(&cutter)) {
        if (tokens->count == room) {
            room = room ? 2 * room : 256;
            struct cxx_token *rows = reallocarray(tokens->rows, room, sizeof(*rows));
            if (!rows) {
                cxx_tokens_free(tokens);
                return err_no_memory();
            }
            tokens->rows = rows;
        }
        struct cxx_token *token = &tokens->rows[tokens->count++];
        int result = cut_token(&cutter, token);
        if (result) {
            cxx_tokens_free(tokens);
            return result;
        }
        token->end = cutter.at;
    }
    return 0;
}

void cxx_tokens_free(struct cxx_tokens *tokens)
{
    free(tokens->rows);
    *tokens = (struct cxx_tokens){0};
}
