/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCREEN_PAGE_H
#define OPTRAIL_SCREEN_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Lines of a fixed size. Text in between may hold STYLE_* marks, which take no column; they become
 * colours, or nothing. Without UTF-8 our own symbols become ASCII, other characters '?'.
 */
#define STYLE_PLAIN    "\001"
#define STYLE_BOLD     "\002"
#define STYLE_REVERSE  "\003"
#define STYLE_DIM      "\004"
#define STYLE_WAIT     "\005"
#define STYLE_LOCK     "\006"
#define STYLE_IO       "\016"
#define STYLE_NET      "\017"
#define STYLE_WORK     "\020"
#define STYLE_THROTTLE "\021"

#define PAGE_LINE 1024 /* bytes that a line may have */

struct page {
    FILE *out; /* weak */
    size_t columns, lines;
    size_t used; /* lines written */
    bool utf8, color;
};

/* Writes one line, cut to the page's width; nothing when the page is full. */
void page_line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines that are left. */
size_t page_left(const struct page *page);

/* Width in columns, marks left out. */
size_t page_columns(const char *text);

/* `text` in exactly `width` columns: cut, or filled with blanks (`right`: on its left). */
void page_cell(const char *text, size_t width, bool right, char *out, size_t size);

/* A bar for a share of 1, `width` columns long when it is whole, and filled up with blanks. */
void page_bar(double share, size_t width, char *out, size_t size);

/* Values as a line of little columns, relative to the largest; blank where a value is negative. */
void page_sparkline(const double *values, size_t count, char *out, size_t size);

#endif
