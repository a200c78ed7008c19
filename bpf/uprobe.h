/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_UPROBE_H
#define OPTRAIL_UPROBE_H

/*
 * What the loader tells uprobe.bpf.c: one row a site. The cookie of a site is its index in the
 * array `sites`; the program knows nothing else, so that a new point needs no new program.
 * Shared with BPF: vmlinux.h or <stdint.h> comes before it.
 */

/* Registers that hold arguments on x86-64 when a function is entered, and the stack pointer. */
enum uprobe_register {
    UPROBE_NONE, /* the value is offsets[0] itself */
    UPROBE_RDI,
    UPROBE_RSI,
    UPROBE_RDX,
    UPROBE_RCX,
    UPROBE_R8,
    UPROBE_R9,
    UPROBE_RSP,
    UPROBE_REGISTER_COUNT,
    UPROBE_REMEMBERED = UPROBE_REGISTER_COUNT, /* the time that this thread remembered; used up */
    UPROBE_TEXT_POINT, /* the point of the text whose length and address are the two values before:
                          an enum point, UPROBE_IGNORED, or one of enum uprobe_text_fault */
};

#define UPROBE_MAX_LOADS 3

/* `width` of a fetch whose value is the address of a virtual table: its number in the map
 * `classes`, 0 when it is none of them */
#define UPROBE_CLASS 1

/* How to come to a number: a register, then `loads` times "the 8 bytes at that address + offset",
 * then the sum with the next offset, if there is one left.
 */
struct uprobe_fetch {
    uint8_t reg;    /* enum uprobe_register */
    uint8_t loads;  /* at most UPROBE_MAX_LOADS */
    uint8_t width;  /* 8: as it is; 4: the low half, sign-extended (an int); UPROBE_CLASS */
    uint8_t negate; /* 1: -value (an errno that is returned negative) */
    int32_t offsets[UPROBE_MAX_LOADS];
};

enum uprobe_compare { UPROBE_ALWAYS, UPROBE_EQUAL, UPROBE_UNEQUAL, UPROBE_LESS, UPROBE_GREATER };

enum uprobe_kind {
    UPROBE_POINT,    /* the site is a point */
    UPROBE_TEXT,     /* a text argument says which point it is: map `texts` */
    UPROBE_REMEMBER, /* no event: the thread remembers the time, for UPROBE_REMEMBERED */
};

/* What a row makes of the values that were read at its hit. */
enum uprobe_value {
    UPROBE_VALUE_KEY,
    UPROBE_VALUE_ARG0,
    UPROBE_VALUE_ARG1,
    UPROBE_VALUE_WHEN,
    UPROBE_VALUE_TEXT, /* UPROBE_TEXT: the point */
    UPROBE_VALUE_COUNT
};

struct uprobe_site {
    uint16_t point; /* enum point; UPROBE_POINT only */
    uint8_t kind;   /* enum uprobe_kind */
    uint8_t compare;
    uint16_t next;    /* the row that the same hit serves next; 0: none (row 0 is never the next) */
    uint8_t positive; /* 1: no event unless arg0 (signed) is above 0 */
    uint8_t through;  /* 1: the key is a number; an event for each one since the last hit, too */
    struct uprobe_fetch key;
    struct uprobe_fetch arg0;
    struct uprobe_fetch arg1;
    struct uprobe_fetch when; /* compared with when_value (signed) unless UPROBE_ALWAYS */
    int64_t when_value;
    struct uprobe_fetch length; /* UPROBE_TEXT: the text's length and address */
    struct uprobe_fetch text;
    uint8_t values[UPROBE_VALUE_COUNT];      /* which of the hit's values is which of the row's */
    uint8_t unused[16 - UPROBE_VALUE_COUNT]; /* two cache lines a row */
};

/*
 * What is read at a hit, for all its rows: each value once, and what lies close to each other in
 * one go, for a read costs the same whether it is of 8 bytes or of 72.
 *
 * The program has so many bytes of scratch: first the registers, by enum uprobe_register, behind
 * them what was read. A value is come to from the 8 bytes at `from`: `loads` times "the memory at
 * that address + offset"; the last of them is of `bytes` bytes, put to `to`, from where the 8 at
 * `pick` are taken; then the sum with the next offset, if there is one left.
 */
#define UPROBE_SCRATCH   256
#define UPROBE_SPAN      72                             /* bytes of one read at most */
#define UPROBE_SPANS     (8 * UPROBE_REGISTER_COUNT)    /* the first place for them */
#define UPROBE_LAST      (UPROBE_SCRATCH - UPROBE_SPAN) /* and the last */
#define UPROBE_TEXT_FROM 0xff                           /* `from` of UPROBE_TEXT_POINT */

struct uprobe_read {
    uint8_t from;
    uint8_t loads;
    uint8_t bytes; /* 8 to UPROBE_SPAN */
    uint8_t to;    /* a multiple of 8 */
    uint8_t pick;
    uint8_t parent; /* the read that this one rests on, which fails with it; itself: none */
    uint8_t unused[2];
    int32_t offsets[UPROBE_MAX_LOADS];
};

#define UPROBE_MAX_VALUES 16
struct uprobe_hit {
    uint32_t count; /* of the reads */
    uint32_t lines; /* of the record: 1 or more */
    struct uprobe_read reads[UPROBE_MAX_VALUES];
};

/* The bytes of a text that decide, padded with zeros: longer texts are told apart by these alone.
 */
#define UPROBE_TEXT_BYTES 16
struct uprobe_text {
    char bytes[UPROBE_TEXT_BYTES];
};
#define UPROBE_IGNORED 0xffffu /* value in `texts`: known, and of no interest */

/*
 * What a hit leaves behind: what it read, as it was, the values of all its rows. What that means is
 * found out later, by the program that the loader runs (uprobe_drain): in one go for many hits,
 * with everything in the cache, and not in the daemon's way.
 *
 * It is made of lines: the first with the head and UPROBE_HEAD_VALUES values, the others with
 * UPROBE_LINE_VALUES each. The ticket has its place in all lines, so that none is taken for another
 * one's head; that of the head is written last.
 */
struct uprobe_record {
    uint64_t time_ns;
    uint64_t ticket; /* its number + 1; 0 in the lines behind the head */
    uint32_t tid;
    uint16_t site; /* the first row of the hit */
    uint16_t cpu;
    uint32_t
        faults;    /* bit i: value i could not be read; what is not needed in the end is no fault */
    uint32_t lost; /* how many hits had found no room by then */
    uint64_t values[4];
};

union uprobe_line {
    struct uprobe_record head;
    uint64_t words[8];
};
#define UPROBE_HEAD_VALUES 4
#define UPROBE_LINE_VALUES 6
#define UPROBE_TICKET_WORD 1
#define UPROBE_FIRST_WORD  2 /* of the values in a line behind the head */

enum uprobe_text_fault { UPROBE_TEXT_UNKNOWN = -1, UPROBE_TEXT_UNREAD = -2 };

#define UPROBE_LINES (1u << 17) /* between two drains; a power of two: 8 MiB */
#define UPROBE_DRAIN 128        /* hits that one run of the program takes */

#define UPROBE_THROUGH 128 /* events that one hit tells at most */

#define UPROBE_MAX_SITES   512
#define UPROBE_MAX_CHAIN   8 /* rows that one hit serves */
#define UPROBE_MAX_CLASSES 4096
#define UPROBE_MAX_THREADS 32768 /* that remember a time; a power of two */
#define UPROBE_MAX_TEXTS   256

/* Counted per CPU and site. */
struct uprobe_counts {
    uint64_t events;       /* handed to the ring */
    uint64_t beside;       /* of them: those that a hit told besides its own (`through`) */
    uint64_t ignored;      /* texts of no interest, and hits that the site's condition refused */
    uint64_t unknown_text; /* texts that the map does not know */
    uint64_t faults;       /* an address could not be read: no event */
    uint64_t lost;         /* the ring was full */
    uint64_t unset_stamps; /* stamps that the daemon never set: no event */
    uint64_t first_ns;     /* the first and the last event; 0: none */
    uint64_t last_ns;
};

/* When events were lost, per CPU. `epoch` says in which reading period of the loader. */
struct uprobe_lost {
    uint64_t count; /* since the start */
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t epoch;
};

#endif
