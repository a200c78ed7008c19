/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_UNWIND_ROW_H
#define OPTRAIL_UNWIND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The compact form of .eh_frame: from which program counter on, where the caller's frame (its CFA,
 * canonical frame address: the stack pointer before the call) and the caller's rbp are. The return
 * address always lies below the CFA.
 */
enum cfa_rule {
    CFA_NO_ROW,        /* nothing is said of these addresses */
    CFA_OUTERMOST,     /* nobody called: the return address is said to be undefined */
    CFA_RSP,           /* rsp + offset */
    CFA_RBP,           /* rbp + offset */
    CFA_AT_RBP,        /* what is stored at rbp + offset: a function that aligns its stack */
    CFA_PLT,           /* rsp + offset, and 8 more behind the first push of an entry of a .plt */
    CFA_SIGNAL,        /* the kernel's signal frame: a whole ucontext lies on the stack */
    CFA_BEYOND,        /* something else: libunwind */
    CFA_SIGNAL_BEYOND, /* a signal frame of another form: libunwind */
    CFA_NO_MODULE,     /* no file: never in a table */
};

enum rbp_rule {
    RBP_SAME,   /* as it is */
    RBP_AT_CFA, /* stored at the CFA + rbp_offset */
    RBP_AT_RBP, /* stored at rbp + rbp_offset */
    RBP_RULE_BITS = 0x0f,
    ROW_STARTS_FUNCTION = 0x80, /* the first row of an FDE */
};

struct unwind_row {
    uint32_t start; /* offset from the module's lowest address */
    int32_t cfa_offset;
    int16_t rbp_offset; /* CFA_PLT: where in an entry of 16 bytes the push is done */
    uint8_t cfa;        /* enum cfa_rule */
    uint8_t rbp;        /* enum rbp_rule, and ROW_STARTS_FUNCTION */
};

struct unwind_rows {
    struct unwind_row *rows; /* owned; by start, each once */
    size_t count, capacity;
    uint64_t skipped; /* records that could not be used: nonsense, or overlapping others */
};

/* What of an ELF file the rows are made from. Addresses as the file says. */
struct eh_frame {
    const uint8_t *bytes; /* weak */
    size_t size;
    uint64_t address;   /* of the first byte */
    uint64_t low, high; /* what the module spans: at most 4 GiB */
};

/* Makes the rows of an .eh_frame (LSB 5, 10.6; DWARF 5, 6.4), in time and memory linear in its
 * size, whatever it says. Records that are damaged are left out and counted. Negative errno for
 * want of memory only; `rows` are freed by unwind_rows_free, also then. */
int unwind_rows_make(const struct eh_frame *frame, struct unwind_rows *rows);
void unwind_rows_free(struct unwind_rows *rows);

/* The row of an offset from the lowest address; NULL where there is none. */
const struct unwind_row *unwind_rows_find(const struct unwind_rows *rows, uint64_t offset);

/* Where the function around an offset starts, by its FDE; false where there is none. */
bool unwind_rows_function(const struct unwind_rows *rows, uint64_t offset, uint32_t *start);

/* Where the stretch without rows around an offset starts; false where there are rows. */
bool unwind_rows_gap(const struct unwind_rows *rows, uint64_t offset, uint32_t *start);

#endif
