/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cxx_functions.h"
#include "err.h"

/* An #if that is open. */
struct branch {
    long depth;   /* of braces, where the branch began */
    bool plain;   /* #ifdef __cplusplus: always taken */
    bool dead;    /* below #if 0 */
    bool outside; /* whether what is around it is dead */
    unsigned line;
};

/* How deep #if may be nested. */
#define MAX_BRANCHES 64

/* The word behind #, and what follows it. */
static const char *directive_word(const char *source, const struct cxx_token *token, size_t *length,
                                  const char **end)
{
    const char *at = source + token->begin + 1;
    *end = source + token->end;
    while (at < *end && (*at == ' ' || *at == '\t'))
        at++;
    *length = 0;
    while (at + *length < *end && at[*length] >= 'a' && at[*length] <= 'z')
        ++*length;
    return at;
}

static bool is(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

static int take_directive(const char *source, const struct cxx_token *token, struct branch *stack,
                          int *count, long depth)
{
    size_t length;
    const char *end, *word = directive_word(source, token, &length, &end);
    const char *rest = word + length;
    if (is(word, length, "if") || is(word, length, "ifdef") || is(word, length, "ifndef")) {
        if (*count == MAX_BRANCHES)
            return err_set(EINVAL, "line %u: more than %d #if within each other", token->line,
                           MAX_BRANCHES);
        bool outside = *count > 0 && stack[*count - 1].dead;
        while (rest < end && (*rest == ' ' || *rest == '\t'))
            rest++;
        bool zero = is(word, length, "if") && rest < end && *rest == '0' &&
                    (rest + 1 == end || rest[1] == ' ' || rest[1] == '\t' || rest[1] == '/');
        stack[(*count)++] = (struct branch){
            .depth = depth,
            .plain = length == 5 && memmem(rest, (size_t)(end - rest), "__cplusplus", 11),
            .dead = outside || zero,
            .outside = outside,
            .line = token->line,
        };
        return 0;
    }
    bool ends = is(word, length, "endif");
    if (!ends && !is(word, length, "else") && !is(word, length, "elif"))
        return 0;
    if (*count == 0)
        return err_set(EINVAL, "line %u: this stands behind no #if", token->line);
    struct branch *branch = &stack[*count - 1];
    if (!branch->plain && depth != branch->depth)
        return err_set(EINVAL,
                       "line %u: a branch of the #if in line %u opens or closes a brace on its own",
                       token->line, branch->line);
    if (ends)
        --*count;
    else
        branch->dead = branch->outside;
    return 0;
}

static int gather(struct cxx_code *code)
{
    struct branch stack[MAX_BRANCHES];
    int branches = 0;
    long depth = 0;
    for (size_t i = 0; i < code->tokens.count; i++) {
        const struct cxx_token *token = &code->tokens.rows[i];
        if (token->kind == CXX_DIRECTIVE) {
            int result = take_directive(code->source, token, stack, &branches, depth);
            if (result)
                return result;
        }
        if (token->kind == CXX_DIRECTIVE || token->kind == CXX_COMMENT ||
            (branches > 0 && stack[branches - 1].dead))
            continue;
        char first = code->source[token->begin];
        depth += token->kind == CXX_MARK ? (first == '{') - (first == '}') : 0;
        if (depth < 0)
            return err_set(EINVAL, "line %u: this brace closes nothing", token->line);
        code->rows[code->count++] = *token;
    }
    if (branches > 0)
        return err_set(EINVAL, "line %u: the #if does not end", stack[branches - 1].line);
    if (depth > 0)
        return err_set(EINVAL, "%ld braces are open at the end of the file", depth);
    return 0;
}

int cxx_code_read(const char *source, size_t size, struct cxx_code *code)
{
    *code = (struct cxx_code){.source = source};
    int result = cxx_tokens_read(source, size, &code->tokens);
    if (result)
        return result;
    code->rows = calloc(code->tokens.count + 1, sizeof(*code->rows));
    result = code->rows ? gather(code) : err_no_memory();
    if (result)
        cxx_code_free(code);
    return result;
}

void cxx_code_free(struct cxx_code *code)
{
    cxx_tokens_free(&code->tokens);
    free(code->rows);
    *code = (struct cxx_code){0};
}

size_t cxx_code_spells(const struct cxx_code *code, size_t at, const char *text)
{
    size_t begin = at;
    for (; at < code->count; at++) {
        text += strspn(text, " ");
        if (!*text)
            break;
        const struct cxx_token *row = &code->rows[at];
        size_t length = row->end - row->begin;
        if (strncmp(text, code->source + row->begin, length) != 0)
            return 0;
        text += length;
    }
    return text[strspn(text, " ")] ? 0 : at - begin;
}

size_t cxx_code_match(const struct cxx_code *code, size_t at)
{
    char open[256]; /* brackets within each other */
    size_t depth = 0;
    for (; at < code->count; at++) {
        char byte = code->source[code->rows[at].begin];
        if (code->rows[at].kind != CXX_MARK)
            continue;
        if (byte == '(' || byte == '[' || byte == '{') {
            if (depth == sizeof(open))
                return code->count;
            open[depth++] = byte == '(' ? ')' : byte == '[' ? ']' : '}';
        } else if (byte == ')' || byte == ']' || byte == '}') {
            if (depth == 0 || open[--depth] != byte)
                return code->count;
            if (depth == 0)
                return at;
        }
    }
    return code->count;
}
