/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRACER_TEXT_H
#define OPTRAIL_TRACER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Texts that a process's probes give the address of: names of locks. A probe's hit holds the
 * address alone, and is looked at a while later; so only constants are read, which lie in memory
 * that the process cannot change. One thread uses it.
 */
#define TRACER_TEXTS      1024 /* different ones; those that come later are not read */
#define TRACER_TEXT_BYTES 256  /* with the NUL; longer ones are not read */

struct tracer_texts {
    size_t count;
    struct tracer_text {
        uint64_t address;
        char *text; /* owned; NULL: it is no constant, or could not be read */
    } rows[TRACER_TEXTS];
};

/* The text at the address in the process, weak: it lives as long as the texts. NULL: not known.
 * Reads a text once. No error: an event without its text is one whose text is not known. */
const char *tracer_text_find(struct tracer_texts *texts, pid_t pid, uint64_t address);
void tracer_texts_free(struct tracer_texts *texts);

#endif
