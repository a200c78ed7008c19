/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_UNWIND_H
#define OPTRAIL_UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Call stacks of a process without frame pointers, from a snapshot of a thread's registers and of
 * the top of its stack: by compact tables made from the .eh_frame of its files, with a cache from
 * program counter to row; what a row cannot express goes to libunwind. (docs/stacks.md)
 *
 * An unwinder is one thread's at a time; several threads may have one each. Tables are shared by
 * all unwinders of this program. A file whose code was met stays open until its names are asked
 * for.
 */

/* In DWARF's order for x86-64 (psABI, figure 3.36). */
enum stack_register {
    STACK_RAX,
    STACK_RDX,
    STACK_RCX,
    STACK_RBX,
    STACK_RSI,
    STACK_RDI,
    STACK_RBP,
    STACK_RSP,
    STACK_R8,
    STACK_R9,
    STACK_R10,
    STACK_R11,
    STACK_R12,
    STACK_R13,
    STACK_R14,
    STACK_R15,
    STACK_RIP,
    STACK_REGISTERS
};

/* A snapshot: the registers, and `size` bytes of stack from STACK_RSP upwards. */
struct stack_snapshot {
    uint64_t registers[STACK_REGISTERS];
    const uint8_t *stack; /* weak */
    size_t size;
};

/* How an unwinding ended. Whatever it is, the frames found until then are good. */
enum unwind_end {
    UNWIND_COMPLETE,  /* at the thread's start: a row says that nobody called it */
    UNWIND_SNAPSHOT,  /* the frame's parent lies beyond the snapshot */
    UNWIND_NO_MODULE, /* the program counter lies in no file: made at run time, or gone */
    UNWIND_NO_ROW,    /* its file says nothing of it */
    UNWIND_STUCK,     /* the stack pointer would not rise: a loop, or nonsense */
    UNWIND_FULL,      /* more frames than there is room for */
    UNWIND_FAULT,     /* a rule needs memory or a register that is not there */
    UNWIND_END_COUNT
};

extern const char *const unwind_end_names[UNWIND_END_COUNT];
/* For people, behind a number of stacks: "12 end in code of no file". */
extern const char *const unwind_end_words[UNWIND_END_COUNT];

struct unwinder_counts {
    uint64_t stacks;
    uint64_t frames;
    uint64_t by_libunwind; /* frames that needed it */
    uint64_t ended[UNWIND_END_COUNT];
    uint64_t modules; /* files whose tables were made */
    uint64_t rows;
    uint64_t bad_modules; /* files that could not be read, or hold nonsense */
};

struct unwinder;

/* Reads the process's mappings; the tables are made when they are first needed. Files are opened
 * as the process sees them (/proc/PID/root, map_files). Owned by the caller. Negative errno with
 * the message: -ESRCH when there is no such process, -EACCES... */
int unwinder_open(pid_t pid, struct unwinder **unwinder);
void unwinder_close(struct unwinder *unwinder); /* NULL is fine */

/* Reads the mappings again, keeps the tables: after a dlopen (UNWIND_NO_MODULE). */
int unwinder_refresh(struct unwinder *unwinder);

/* The program counters, the innermost first; callers' are return addresses. At most `room`.
 * Returns how many. Never fails. Not thread-safe. */
size_t unwinder_unwind(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                       uint64_t *frames, size_t room, enum unwind_end *end);

/* The same; of each frame also the stack pointer in it, at the call that it makes. The return
 * address to it lies right below, unless a signal interrupted it. */
size_t unwinder_unwind_places(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                              uint64_t *frames, uint64_t *stack_pointers, size_t room,
                              enum unwind_end *end);

/* The same by libunwind alone: the reference that tests compare with, and the fallback. */
size_t unwinder_by_libunwind(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                             uint64_t *frames, size_t room, enum unwind_end *end);

struct unwinder_counts unwinder_counts(const struct unwinder *unwinder);

#endif
