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

struct uprobe_site {
    uint16_t point; /* enum point; UPROBE_POINT only */
    uint8_t kind;   /* enum uprobe_kind */
    uint8_t compare;
    uint16_t next; /* the row that the same hit serves next; 0: none (row 0 is never the next) */
    uint16_t more; /* of the first row: how many others the hit serves */
    struct uprobe_fetch key;
    struct uprobe_fetch arg0;
    struct uprobe_fetch arg1;
    struct uprobe_fetch when; /* compared with when_value (signed) unless UPROBE_ALWAYS */
    int64_t when_value;
    struct uprobe_fetch length; /* UPROBE_TEXT: the text's length and address */
    struct uprobe_fetch text;
    uint64_t positive; /* 1: no event unless arg0 (signed) is above 0 */
    uint64_t unused;   /* two cache lines a row; what most rows need is in the first */
};

/* The bytes of a text that decide, padded with zeros: longer texts are told apart by these alone.
 */
#define UPROBE_TEXT_BYTES 16
struct uprobe_text {
    char bytes[UPROBE_TEXT_BYTES];
};
#define UPROBE_IGNORED 0xffffu /* value in `texts`: known, and of no interest */

/*
 * What a hit leaves behind for each of its rows: what it read, as it was. What that means is found
 * out later, by the program that the loader runs (uprobe_drain): in one go for many hits, with
 * everything in the cache, and not in the daemon's way.
 */
struct uprobe_record {
    uint64_t time_ns;
    uint64_t key, arg0, arg1, when;
    uint64_t ticket; /* its number + 1; written last */
    uint32_t tid;
    int32_t
        point; /* enum point; UPROBE_TEXT: or UPROBE_IGNORED, or one of enum uprobe_text_fault */
    uint16_t site;
    uint16_t cpu;
    uint32_t faults; /* enum uprobe_fault, and above: how many hits had found no room by then */
};

/* What could not be read; what was not needed in the end is no fault. */
enum uprobe_fault { UPROBE_WHEN_FAULT = 1, UPROBE_ARGUMENT_FAULT = 2 };
#define UPROBE_LOST_SHIFT 2
enum uprobe_text_fault { UPROBE_TEXT_UNKNOWN = -1, UPROBE_TEXT_UNREAD = -2 };

#define UPROBE_RECORDS (1u << 17) /* between two drains; a power of two: 8 MiB */
#define UPROBE_DRAIN   256        /* that one run of the program takes */

#define UPROBE_MAX_SITES   512
#define UPROBE_MAX_CHAIN   8 /* rows that one hit serves */
#define UPROBE_MAX_CLASSES 4096
#define UPROBE_MAX_THREADS 32768 /* that remember a time */
#define UPROBE_MAX_TEXTS   256

/* Counted per CPU and site. */
struct uprobe_counts {
    uint64_t events;       /* handed to the ring */
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
