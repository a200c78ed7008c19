/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CXX_FUNCTIONS_H
#define OPTRAIL_CXX_FUNCTIONS_H

#include "cxx_tokens.h"

/*
 * Where the functions of a C++ file have their bodies, found without a preprocessor. Limits: a
 * macro is what it looks like; functions of classes that stand inside functions are not found; a
 * file in which a branch of #if opens or closes a brace that the others do not is refused.
 */

struct cxx_range {
    size_t begin, end; /* bytes of the source */
};

/* The tokens that are code: no comments, no directives, nothing below #if 0. Of the branches of an
 * #if that all open the same bracket the first is there. */
struct cxx_code {
    const char *source; /* weak */
    struct cxx_tokens tokens;
    struct cxx_token *rows; /* owned */
    size_t count;
    struct cxx_range *guards; /* such #if, to their #endif: no line may be put inside; owned */
    size_t guard_count;
};

/* Cuts the source (weak: it must outlive the code) and checks it. 0, or a negative errno with
 * err_set that names the line; `code` is then empty. */
int cxx_code_read(const char *source, size_t size, struct cxx_code *code);
void cxx_code_free(struct cxx_code *code);

/* The first of all tokens that ends behind the byte `offset`; their number when none does. */
size_t cxx_code_token(const struct cxx_code *code, size_t offset);

/* Whether the code at row `at` spells the text, one token after the other, without its blanks. 0,
 * or the number of rows that it takes. */
size_t cxx_code_spells(const struct cxx_code *code, size_t at, const char *text);

/* The row of the bracket that closes the one at row `at`; `count` when there is none. */
size_t cxx_code_match(const struct cxx_code *code, size_t at);

struct cxx_body {
    size_t open, close; /* rows of the two braces */
};

/* Finds the one body of the function "a::b::f"; unnamed namespaces have no part in the name,
 * template arguments neither; an operator is "a::operator==", "a::operator bool", what a macro
 * names "MACRO(name)". `signature` (or NULL) is looked for in the parameters, blanks and
 * comments aside. Returns 0, -ENOENT when there is none, or another negative errno, with err_set:
 * several bodies are refused. */
int cxx_function_find(const struct cxx_code *code, const char *function, const char *signature,
                      struct cxx_body *body);

#endif
