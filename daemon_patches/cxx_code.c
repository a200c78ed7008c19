/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cxx_functions.h"
#include "err.h"

/* What a stretch of code does to the brackets around it. */
struct effect {
    long braces, parentheses;
};

/* An #if that is open. */
struct branch {
    struct effect before, first; /* where it began; what its first branch that is alive does */
    size_t rows;                 /* of code, behind that first branch */
    size_t begin;                /* of the #if, in bytes */
    bool plain;                  /* #ifdef __cplusplus: always taken */
    bool dead;                   /* below #if 0, or the #else of a branch that is always taken */
    bool outside;                /* whether what is around it is dead */
    bool ended, other;           /* a branch that is alive has ended; #else was there */
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

struct gathering {
    struct cxx_code *code;
    struct branch stack[MAX_BRANCHES];
    int branches;
    struct effect now;
};

static struct effect since(const struct gathering *gathering, const struct branch *branch)
{
    return (struct effect){gathering->now.braces - branch->before.braces,
                           gathering->now.parentheses - branch->before.parentheses};
}

static int begin_branch(struct gathering *gathering, const struct cxx_token *token, size_t length,
                        const char *rest, const char *end)
{
    int count = gathering->branches;
    if (count == MAX_BRANCHES)
        return err_set(EINVAL, "line %u: more than %d #if within each other", token->line,
                       MAX_BRANCHES);
    bool outside = count > 0 && gathering->stack[count - 1].dead;
    while (rest < end && (*rest == ' ' || *rest == '\t'))
        rest++;
    bool zero = length == 2 && rest < end && *rest == '0' &&
                (rest + 1 == end || rest[1] == ' ' || rest[1] == '\t' || rest[1] == '/');
    gathering->stack[gathering->branches++] = (struct branch){
        .before = gathering->now,
        .begin = token->begin,
        .plain = length == 5 && memmem(rest, (size_t)(end - rest), "__cplusplus", 11),
        .dead = outside || zero,
        .outside = outside,
        .line = token->line,
    };
    return 0;
}

/* The branch ends at this directive. Branches that all do the same to their brackets are
 * alternatives of one text, `#if A / if (x) { / #else / if (y) { / #endif`: the first stands for
 * them. */
static int end_branch(struct gathering *gathering, struct branch *branch, unsigned line)
{
    struct effect effect = since(gathering, branch);
    if (branch->dead || branch->plain)
        return 0;
    bool uneven = effect.braces || branch->first.braces;
    if (branch->ended && uneven && effect.braces != branch->first.braces)
        return err_set(EINVAL,
                       "line %u: a branch of the #if in line %u opens or closes a brace on its own",
                       line, branch->line);
    if (!branch->ended) {
        branch->first = effect;
        branch->rows = gathering->code->count;
        branch->ended = true;
    } else if (uneven || (effect.parentheses && effect.parentheses == branch->first.parentheses)) {
        gathering->code->count = branch->rows;
        gathering->now.parentheses = branch->before.parentheses + branch->first.parentheses;
    }
    return 0;
}

static int add_guard(struct cxx_code *code, size_t begin, size_t end)
{
    struct cxx_range *guards = reallocarray(code->guards, code->guard_count + 1, sizeof(*guards));
    if (!guards)
        return err_no_memory();
    code->guards = guards;
    guards[code->guard_count++] = (struct cxx_range){begin, end};
    return 0;
}

static int take_directive(struct gathering *gathering, const struct cxx_token *token)
{
    size_t length;
    const char *end, *word = directive_word(gathering->code->source, token, &length, &end);
    if (is(word, length, "if") || is(word, length, "ifdef") || is(word, length, "ifndef"))
        return begin_branch(gathering, token, length, word + length, end);
    bool ends = is(word, length, "endif"), other = is(word, length, "else");
    if (!ends && !other && !is(word, length, "elif"))
        return 0;
    if (gathering->branches == 0)
        return err_set(EINVAL, "line %u: this stands behind no #if", token->line);
    struct branch *branch = &gathering->stack[gathering->branches - 1];
    int result = end_branch(gathering, branch, token->line);
    if (result)
        return result;
    branch->other |= other;
    if (!ends) { /* the #else of __cplusplus is never taken */
        branch->dead = branch->outside || branch->plain;
        if (branch->ended)
            gathering->now = branch->before;
        return 0;
    }
    gathering->branches--;
    if (!branch->ended)
        return 0;
    if (branch->first.braces && !branch->other)
        return err_set(EINVAL,
                       "line %u: a branch of the #if in line %u opens or closes a brace on its own",
                       token->line, branch->line);
    gathering->now.braces = branch->before.braces + branch->first.braces;
    return branch->first.braces || branch->first.parentheses
               ? add_guard(gathering->code, branch->begin, token->end)
               : 0;
}

static int take_code(struct gathering *gathering, const struct cxx_token *token)
{
    char first = gathering->code->source[token->begin];
    if (token->kind == CXX_MARK) {
        gathering->now.braces += (first == '{') - (first == '}');
        gathering->now.parentheses += (first == '(') - (first == ')');
    }
    if (gathering->now.braces < 0)
        return err_set(EINVAL, "line %u: this brace closes nothing", token->line);
    gathering->code->rows[gathering->code->count++] = *token;
    return 0;
}

static int gather(struct cxx_code *code)
{
    struct gathering gathering = {.code = code};
    for (size_t i = 0; i < code->tokens.count; i++) {
        const struct cxx_token *token = &code->tokens.rows[i];
        int branches = gathering.branches, result = 0;
        if (token->kind == CXX_DIRECTIVE)
            result = take_directive(&gathering, token);
        else if (token->kind != CXX_COMMENT && !(branches && gathering.stack[branches - 1].dead))
            result = take_code(&gathering, token);
        if (result)
            return result;
    }
    if (gathering.branches > 0)
        return err_set(EINVAL, "line %u: the #if does not end",
                       gathering.stack[gathering.branches - 1].line);
    if (gathering.now.braces > 0)
        return err_set(EINVAL, "%ld braces are open at the end of the file", gathering.now.braces);
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
    free(code->guards);
    *code = (struct cxx_code){0};
}

size_t cxx_code_token(const struct cxx_code *code, size_t offset)
{
    size_t low = 0, high = code->tokens.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code->tokens.rows[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
