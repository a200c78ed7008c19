/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_LINES_H
#define OPTRAIL_FLAME_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The lines of a text of any size, gzipped or not, and what was wrong with some of them.
 */
enum { FLAME_DAMAGE_SHOWN = 5 };

/* Lines that could not be used: all counted, the first ones told. */
struct flame_damage {
    uint64_t count;
    struct {
        uint64_t line;
        const char *why; /* static */
    } first[FLAME_DAMAGE_SHOWN];
    bool cut;       /* the compressed data break off or are damaged */
    uint64_t whole; /* how many lines came before that, all of them whole */
    bool unread;    /* it looked like no text, and was not read to its end */
};

void flame_damage_add(struct flame_damage *damage, uint64_t line, const char *why);

/* One sentence: how many lines, the numbers of the first ones and why. */
void flame_damage_text(const struct flame_damage *damage, const char *file, char *text,
                       size_t size);

struct flame_bytes;

struct flame_lines {
    struct flame_bytes *source; /* owned: the file's */
    const char *name;           /* weak; for messages */
    char *buffer;               /* owned */
    size_t at, end;             /* what is not handed out yet */
    uint64_t line;              /* number of the line that was handed out last, from 1 */
    uint64_t bytes;             /* handed out so far */
    uint64_t binary;            /* lines with a zero byte in them */
    bool ended;
    bool skipping;  /* the rest of a line that is too long */
    size_t skipped; /* of that line, so far */
    struct flame_damage damage;
};

/* Longer lines are damage. */
#define FLAME_LINE_MAX (1u << 20)
/* A longer one is the last that is read: what has no lines may have no end. */
#define FLAME_SKIP_MAX (64u << 20)
/* After more lines with a zero byte in them it is no text. */
#define FLAME_BINARY_MAX 10000u

/* Opens the file; "-" is standard input. Negative errno with the message that names it. Not to be
 * moved while it is open. */
int flame_lines_open(struct flame_lines *lines, const char *name);
void flame_lines_close(struct flame_lines *lines);

/* The next line without its end; weak, until the next call. 1; 0: there are no more (what is left
 * of a line where compressed data break off is none: damage.whole tells); negative errno with the
 * message when reading fails. */
int flame_lines_next(struct flame_lines *lines, const char **text, size_t *length);

/* The lines that the buffer holds from the next one on, without handing them out: for finding out
 * what they are. Weak. */
int flame_lines_peek(struct flame_lines *lines, const char **text, size_t *length);

#endif
