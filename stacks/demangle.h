/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DEMANGLE_H
#define OPTRAIL_DEMANGLE_H

/* The C++ name behind a mangled one, by the compiler's own demangler; a copy of the name when it is
 * none, or when it would be longer than DEMANGLED_MAX: a few bytes can stand for gigabytes. Control
 * characters become '_'. Owned by the caller; NULL for want of memory. Any thread. */
enum { MANGLED_MAX = 16384, DEMANGLED_MAX = 65536 };
char *demangle(const char *name);

/* The same of a symbol as a file has it, which may end in @VERSION. */
char *demangle_symbol(const char *symbol);

#endif
