/* SPDX-License-Identifier: MIT */
#include "screen_page.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* The marks, and what a terminal is told for them. */
static const struct {
    char mark;
    const char *sequence;
} styles[] = {
    {'\001', "\033[0m"},  {'\002', "\033[1m"},  {'\003', "\033[7m"},  {'\004', "\033[2m"},
    {'\005', "\033[33m"}, {'\006', "\033[31m"}, {'\016', "\033[34m"}, {'\017', "\033[36m"},
    {'\020', "\033[32m"}, {'\021', "\033[35m"},
};

/* Our own symbols in ASCII. */
static const struct {
    const char *symbol, *ascii;
} plain[] = {
    {"µ", "u"}, {"█", "#"}, {"▉", "#"}, {"▊", "#"}, {"▋", "#"}, {"▌", "#"},
    {"▍", "|"}, {"▎", "|"}, {"▏", "|"}, {"▁", "_"}, {"▂", "."}, {"▃", "-"},
    {"▄", "="}, {"▅", "+"}, {"▆", "*"}, {"▇", "%"}, {"…", "~"}, {"·", "-"},
};

static const char *const eighths_wide[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
static const char *const eighths_high[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static const char *style_of(char mark)
{
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (styles[i].mark == mark)
            return styles[i].sequence;
    return NULL;
}

static size_t character_length(const char *text)
{
    size_t length = 1;

    while ((text[length] & 0xc0) == 0x80)
        length++;
    return length;
}

size_t page_columns(const char *text)
{
    size_t columns = 0;

    for (; *text; text += character_length(text))
        columns += !style_of(*text);
    return columns;
}

size_t page_left(const struct page *page)
{
    return page->lines - page->used;
}

static void put_character(const struct page *page, const char *text, size_t length)
{
    if (page->utf8 || length == 1) {
        fwrite(text, 1, length, page->out);
        return;
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strlen(plain[i].symbol) == length && memcmp(plain[i].symbol, text, length) == 0) {
            fputs(plain[i].ascii, page->out);
            return;
        }
    }
    fputc('?', page->out);
}

/* Those at the end are of no use to anybody. */
static void drop_blanks(char *line)
{
    size_t length = strlen(line);

    while (length > 0 && line[length - 1] == ' ')
        line[--length] = '\0';
}

void page_line(struct page *page, const char *format, ...)
{
    char line[PAGE_LINE];
    size_t columns = 0;
    bool styled = false;
    va_list arguments;

    if (page_left(page) == 0)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    drop_blanks(line);
    for (const char *at = line; *at;) {
        const char *style = style_of(*at);
        size_t length = character_length(at);
        if (style && page->color) {
            fputs(style, page->out);
            styled = *at != STYLE_PLAIN[0];
        } else if (!style && columns++ < page->columns) {
            put_character(page, at, length);
        }
        at += length;
    }
    if (styled)
        fputs(style_of(STYLE_PLAIN[0]), page->out);
    fputc('\n', page->out);
    page->used++;
}

void page_cell(const char *text, size_t width, bool right, char *out, size_t size)
{
    size_t columns = page_columns(text), used = 0;
    size_t blanks = columns < width ? width - columns : 0;

    if (right)
        used = (size_t)snprintf(out, size, "%*s", (int)blanks, "");
    for (size_t column = 0; *text && used + 4 < size;) {
        size_t length = character_length(text);
        /* what is cut shows it */
        bool last = columns > width && column + 1 == width;
        if (column == width)
            break;
        column += !style_of(*text);
        used += (size_t)snprintf(out + used, size - used, "%.*s", last ? 3 : (int)length,
                                 last ? "…" : text);
        text += length;
    }
    if (!right)
        used += (size_t)snprintf(out + used, size - used, "%*s", (int)blanks, "");
    if (used < size)
        out[used] = '\0';
}

void page_bar(double share, size_t width, char *out, size_t size)
{
    long count = isfinite(share) ? lround(share * (double)width * 8) : 0;
    size_t used = 0, columns = 0;

    /* what is not quite nothing is seen */
    if (count < 1 && share > 0)
        count = 1;
    if (count > 8L * (long)width)
        count = 8L * (long)width;
    for (long i = 0; i < count / 8; i++, columns++)
        used += (size_t)snprintf(out + used, size - used, "█");
    if (count % 8) {
        used += (size_t)snprintf(out + used, size - used, "%s", eighths_wide[count % 8]);
        columns++;
    }
    snprintf(out + used, size - used, "%*s", (int)(width - columns), "");
}

void page_sparkline(const double *values, size_t count, char *out, size_t size)
{
    double largest = 0;
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        largest = values[i] > largest ? values[i] : largest;
    for (size_t i = 0; i < count && used + 4 < size; i++) {
        long height = largest > 0 ? lround(values[i] / largest * 7) : 0;
        used += (size_t)snprintf(out + used, size - used, "%s",
                                 values[i] < 0 ? " " : eighths_high[height]);
    }
}
