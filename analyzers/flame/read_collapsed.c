/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks: a line is a stack, the outermost frame first, its frames parted by ';', and
 * behind a space how many samples it stands for; in a comparison two numbers, before and after.
 */
#include "flame_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "perf_lines.h"

enum { PREVIOUS_FRAMES = 256 };

/* The stack of the line before: sorted files share most of it with the next line. */
struct previous {
    char text[4096];
    size_t length;
    size_t count;
    size_t ends[PREVIOUS_FRAMES]; /* behind the ';' of each frame */
    uint32_t frames[FLAME_MAX_FRAMES + 1];
};

/* Stacks that came before: files that are not summed up repeat them. */
enum { KNOWN_STACKS = 4096 };

struct known_stack {
    uint32_t hash;
    uint32_t length;
    uint32_t count;
    uint32_t *frames; /* owned; behind them the text */
};

struct stacks {
    struct previous previous;
    struct known_stack known[KNOWN_STACKS];
};

struct number {
    uint64_t value;
    bool fraction;
};

/* The number that the text ends with, and what is before it. False: there is none, or it is too
 * large. */
static bool take_number(const char *text, size_t *length, struct number *number)
{
    size_t begin = *length, digits;
    size_t dot = 0;
    while (begin > 0 && ((text[begin - 1] >= '0' && text[begin - 1] <= '9') ||
                         (text[begin - 1] == '.' && dot == 0))) {
        begin--;
        if (text[begin] == '.')
            dot = begin;
    }
    if (begin == *length || begin == 0 || (text[begin - 1] != ' ' && text[begin - 1] != '\t'))
        return false;
    digits = dot ? dot : *length;
    if (digits == begin)
        return false;
    *number = (struct number){.fraction = dot != 0};
    for (size_t i = begin; i < digits; i++)
        if (__builtin_mul_overflow(number->value, 10, &number->value) ||
            __builtin_add_overflow(number->value, (uint64_t)(text[i] - '0'), &number->value))
            return false;
    if (dot && dot + 1 < *length && text[dot + 1] >= '5' && number->value < UINT64_MAX)
        number->value++;
    while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t'))
        begin--;
    *length = begin;
    return true;
}

/* The numbers at the end of a line, at most `two`: 1 or 2 of them, in their order; 0 when there is
 * none. */
static int take_numbers(const char *text, size_t *length, struct number numbers[2], bool two)
{
    while (*length > 0 && (text[*length - 1] == ' ' || text[*length - 1] == '\t'))
        --*length;
    if (!take_number(text, length, &numbers[0]))
        return 0;
    if (!two)
        return 1;
    struct number first;
    size_t before = *length;
    /* a stack that is a number itself is no second column */
    if (!take_number(text, &before, &first) || before == 0)
        return 1;
    numbers[1] = numbers[0];
    numbers[0] = first;
    *length = before;
    return 2;
}

static size_t common(const char *a, const char *b, size_t length)
{
    size_t at = 0;
    for (uint64_t left, right; at + 8 <= length; at += 8) {
        memcpy(&left, a + at, 8);
        memcpy(&right, b + at, 8);
        if (left != right)
            return at + (size_t)__builtin_ctzll(left ^ right) / 8;
    }
    while (at < length && a[at] == b[at])
        at++;
    return at;
}

/* The frames of a stack as names, in `previous`. Returns how many, at most FLAME_MAX_FRAMES + 1. */
static int take_frames(struct flame_names *names, struct previous *previous, const char *text,
                       size_t length)
{
    size_t count = 0, at = 0;
    size_t same =
        common(previous->text, text, length < previous->length ? length : previous->length);
    while (count < previous->count && previous->ends[count] <= same)
        at = previous->ends[count++];
    previous->count = count;
    while (at <= length && count <= FLAME_MAX_FRAMES) {
        const char *end = memchr(text + at, ';', length - at);
        size_t until = end ? (size_t)(end - text) : length;
        const char *name = until > at ? text + at : "[unknown]";
        int result = flame_name(names, name, until > at ? until - at : strlen(name),
                                &previous->frames[count]);
        if (result < 0)
            return result;
        at = until + 1;
        if (end && previous->count == count && count < PREVIOUS_FRAMES &&
            at <= sizeof(previous->text))
            previous->ends[previous->count++] = at;
        count++;
    }
    previous->length = length < sizeof(previous->text) ? length : sizeof(previous->text);
    if (previous->length > same)
        memcpy(previous->text + same, text + same, previous->length - same);
    return (int)count;
}

/* Keeps the stack in the place of the one that was there. Without memory none is kept. */
static void keep_stack(struct known_stack *known, uint32_t hash, const char *text, size_t length,
                       const uint32_t *frames, size_t count)
{
    free(known->frames);
    *known =
        (struct known_stack){.hash = hash, .length = (uint32_t)length, .count = (uint32_t)count};
    known->frames = malloc(count * sizeof(*frames) + length);
    if (!known->frames)
        return;
    memcpy(known->frames, frames, count * sizeof(*frames));
    memcpy(known->frames + count, text, length);
}

/* As take_frames(); *frames is weak, until the next call. */
static int find_frames(struct flame_names *names, struct stacks *stacks, const char *text,
                       size_t length, const uint32_t **frames)
{
    uint32_t hash = flame_names_hash(names, text, length);
    struct known_stack *known = &stacks->known[hash % KNOWN_STACKS];
    *frames = known->frames;
    if (known->frames && known->hash == hash && known->length == length &&
        memcmp(known->frames + known->count, text, length) == 0)
        return (int)known->count;
    int count = take_frames(names, &stacks->previous, text, length);
    *frames = stacks->previous.frames;
    if (count > 0)
        keep_stack(known, hash, text, length, *frames, (size_t)count);
    return count;
}

static int take_sample(struct flame_fold *fold, const struct number *number, unsigned side,
                       const uint32_t *frames, size_t count)
{
    const struct flame_sample sample = {.frame_count = count,
                                        .frames = frames,
                                        .kind = FLAME_cpu,
                                        .side = side,
                                        .value_ns = number->value,
                                        .count = number->value};
    return number->value ? flame_fold_take(fold, &sample) : 0;
}

static const char *read_line(struct flame_fold *fold, const struct flame_read_options *options,
                             struct flame_read_counts *counts, struct stacks *stacks,
                             const char *text, size_t length, int *result)
{
    struct number numbers[2];
    int columns = take_numbers(text, &length, numbers, options->two_columns);
    *result = 0;
    if (columns == 0)
        return length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9'
                   ? "no number at its end, or one below 0 or beyond 2^64"
                   : "no number at its end";
    if (options->two_columns && columns == 1)
        return "only one number";
    if (length == 0)
        return "no stack before the number";
    const uint32_t *frames;
    int count = find_frames(&flame_fold_tree(fold)->names, stacks, text, length, &frames);
    if (count < 0)
        *result = count;
    for (int i = 0; *result == 0 && i < columns; i++) {
        counts->rounded += numbers[i].fraction;
        counts->samples += numbers[i].value;
        *result =
            take_sample(fold, &numbers[i], options->side + (unsigned)i, frames, (size_t)count);
    }
    return NULL;
}

static int read_all(struct flame_lines *lines, const struct flame_read_options *options,
                    struct flame_fold *fold, struct flame_read_counts *counts)
{
    struct stacks *stacks = calloc(1, sizeof(*stacks));
    const char *text;
    size_t length;
    int result;

    if (!stacks)
        return err_no_memory();
    while ((result = flame_lines_next(lines, &text, &length)) > 0) {
        if ((lines->line & 0xffff) == 0 && options->progress)
            options->progress(options->progress_context, lines->bytes);
        if (options->stop && *options->stop)
            break;
        if (length == 0)
            continue;
        const char *wrong = read_line(fold, options, counts, stacks, text, length, &result);
        if (wrong)
            flame_damage_add(&lines->damage, lines->line, wrong);
        if (result == -EOVERFLOW) {
            flame_damage_add(&lines->damage, lines->line, "the sum of all would be beyond 2^64");
            result = 0;
        }
        if (result < 0)
            break;
    }
    for (size_t i = 0; i < KNOWN_STACKS; i++)
        free(stacks->known[i].frames);
    free(stacks);
    counts->damage = lines->damage;
    return result < 0 ? result : 0;
}

/* Lines that end with a number, behind something else, and are no sample's first line. */
static size_t looks_like(const char *text, size_t length)
{
    struct number numbers[2];
    struct perf_header header;
    size_t found = 0;
    for (int lines = 0; length > 0 && lines < 1000; lines++) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        size_t used = line > 0 && text[line - 1] == '\r' ? line - 1 : line;
        if (*text != ' ' && *text != '\t' && take_numbers(text, &used, numbers, false) > 0)
            found += !perf_header_parse(text, line, true, &header);
        line += end ? 1 : 0;
        text += line;
        length -= line;
    }
    return found;
}

bool flame_has_two_columns(const char *text, size_t length)
{
    struct number numbers[2];
    for (int lines = 0; length > 0 && lines < 1000; lines++) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        size_t used = line > 0 && text[line - 1] == '\r' ? line - 1 : line;
        if (used > 0 && take_numbers(text, &used, numbers, true) != 2)
            return false;
        line += end ? 1 : 0;
        text += line;
        length -= line;
    }
    return true;
}

const struct flame_reader flame_read_collapsed = {
    .name = "collapsed",
    .text = "a stack a line, frames parted by ';', and a number of samples",
    .looks_like = looks_like,
    .read = read_all,
};
