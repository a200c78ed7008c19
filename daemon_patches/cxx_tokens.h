/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CXX_TOKENS_H
#define OPTRAIL_CXX_TOKENS_H

#include <stddef.h>

/*
 * C++ source cut into tokens, C++98 to C++20, without a preprocessor: enough to find where a
 * function begins and ends. Limits: a macro is what it looks like (one that opens a brace is not
 * seen through), trigraphs are not read, and a number's apostrophes are taken for C++14's.
 */

enum cxx_kind {
    CXX_WORD,      /* identifiers and keywords */
    CXX_NUMBER,    /* any preprocessing number */
    CXX_TEXT,      /* a string or character literal with its prefix, raw ones too */
    CXX_MARK,      /* one byte of punctuation; "::" and "->" are one token */
    CXX_COMMENT,   /* with its delimiters, without the line's end */
    CXX_DIRECTIVE, /* from # to the end of the logical line, without it */
};

/* Byte offsets into the source; line counts from 1. */
struct cxx_token {
    enum cxx_kind kind;
    size_t begin, end;
    unsigned line;
};

struct cxx_tokens {
    struct cxx_token *rows; /* owned */
    size_t count;
};

/* Cuts `source` (size bytes, any bytes; CR LF and a lone LF end lines). Every byte that is in no
 * token is white space. A literal or comment that does not end is an error that names its line.
 * Returns 0, or a negative errno with err_set; `tokens` is then empty. */
int cxx_tokens_read(const char *source, size_t size, struct cxx_tokens *tokens);

void cxx_tokens_free(struct cxx_tokens *tokens);

#endif
