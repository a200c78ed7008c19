/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TEXT_REPAIR_H
#define OPTRAIL_TEXT_REPAIR_H

#include <stddef.h>
#include <stdint.h>

/* What was mended in a pasted text, by kind. */
struct text_repairs {
    uint64_t quotes;   /* lines that began with > */
    uint64_t entities; /* &gt; and the like, typographic quotes and blanks */
    uint64_t returns;  /* carriage returns */
    uint64_t nulls;    /* bytes that are 0 */
};

/* The encoding of a text whose characters are not bytes, by its mark or by zeros in every other
 * byte: "UTF-16" and the like, as iconv calls it. NULL: it is another text, or none. */
const char *text_encoding(const char *bytes, size_t size);

/* A pasted text as its tool printed it, as far as that can be told without knowing the tool: line
 * ends are \n, quoting with > is gone, HTML entities and typographic quotes are characters again.
 * Lines that were wrapped stay so: only the reader of a format knows how one ends. Returns text
 * that ends with 0 and is the caller's; NULL with the message without memory. */
char *text_repair(const char *bytes, size_t size, struct text_repairs *repairs);

#endif
