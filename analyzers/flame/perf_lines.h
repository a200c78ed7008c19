/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PERF_LINES_H
#define OPTRAIL_PERF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lines of `perf script`'s output. All texts are weak: parts of the line. */
struct perf_header {
    const char *comm; /* "" when it is not printed; may have spaces */
    size_t comm_length;
    uint64_t time_ns; /* 0: not printed */
    uint64_t period;  /* 0: not printed */
    char event[128];  /* "cpu-clock:pppH"; "" when it is not printed */
    const char *rest; /* what follows the event */
    size_t rest_length;
};

struct perf_frame {
    const char *name; /* of the function, without an offset; or of the module */
    size_t length;
    bool of_module; /* the function is not known: the name is the module's, "/usr/lib/libc.so.6" */
    bool clean;     /* the name can be taken as it is, without one of the functions below */
    bool has_address;
    bool has_module;
};

/* Takes a sample's first line apart. `strict`: it must have a thread, and behind it a time, a CPU,
 * an event or an address, for it may be a frame as well. False: it is none. */
bool perf_header_parse(const char *text, size_t length, bool strict, struct perf_header *header);

/* Takes a frame's line apart. False: it is none. */
bool perf_frame_parse(const char *text, size_t length, struct perf_frame *frame);

/* The same in two steps, since the second one is the longer one and comes out the same for the same
 * text: without blanks and address (*has_address), and then what follows the address. */
void perf_frame_split(const char **text, size_t *length, bool *has_address);
bool perf_frame_rest(const char *text, size_t length, bool has_address, struct perf_frame *frame);

#define PERF_NAME_MAX 4096

/* The name without argument lists, and with nothing in it that parts frames; longer ones are cut.
 * Returns the length. */
size_t perf_name_tidy(const char *name, size_t length, char clean[PERF_NAME_MAX]);

/* A module's name in place of a function's: "[libc.so.6]". Returns the length. */
size_t perf_module_tidy(const char *module, size_t length, char clean[PERF_NAME_MAX]);

#endif
