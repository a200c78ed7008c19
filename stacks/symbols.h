/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SYMBOLS_H
#define OPTRAIL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind.h"

/* What a program counter is called. */
struct frame_name {
    const char *function;  /* whole, demangled; NULL: no name known */
    const char *shortened; /* for people: no argument lists, template arguments cut, no
                              `std::__cxx11`; at most 511 bytes */
    const char *module;    /* the file's name without directories; "?" where there is none */
    uint64_t start;  /* the function's start, as an offset into the module's addresses: from the
                        symbol, else from .eh_frame, else the counter's own page */
    uint64_t offset; /* of the counter behind it */
};

/* Looks it up: .dynsym, .symtab, the debug file of its build-id; debuginfod only where
 * symbols_debuginfod() was called. Answers are cached. `caller`: it is a return address, so that
 * the call before it is what counts. The strings are weak: as long as the unwinder. Never fails. */
void symbols_find(struct unwinder *unwinder, uint64_t counter, bool caller,
                  struct frame_name *name);

/* Ask a debuginfod server as well ($DEBUGINFOD_URLS), from a thread of its own: a name that has not
 * arrived yet is not waited for. 0, or -ENOTSUP where libdebuginfod is not there. */
int symbols_debuginfod(struct unwinder *unwinder);

/* A whole stack as the text of stack.define: frames parted by ';', the innermost first, a frame
 * without a name as module+0xstart. ';' and control characters in names become '_'. Owned by the
 * caller, who frees it; NULL with the message for want of memory. `whole`: the functions whole. */
char *symbols_text(struct unwinder *unwinder, const uint64_t *frames, size_t count, bool whole);

/* How many frames such a text has. */
size_t symbols_text_depth(const char *text);

/* Shortens a demangled C++ name for people into `out`; returns out. */
char *symbols_shorten(const char *demangled, char *out, size_t size);

#endif
