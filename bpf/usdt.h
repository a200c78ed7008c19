/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_USDT_H
#define OPTRAIL_USDT_H

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

/*
 * USDT probes: the notes of type 3, owner "stapsdt", that SystemTap's <sys/sdt.h> defined and that
 * bpftrace, perf and we read (section .note.stapsdt, addresses relative to .stapsdt.base).
 */
struct usdt_probe {
    char *name;                /* owned */
    char *arguments;           /* "8@%rdi 8@%rsi 8@%rdx"; owned */
    uint64_t address;          /* of the site, virtual */
    uint64_t offset;           /* of the site in the file */
    uint64_t semaphore_offset; /* of its counter of listeners in the file; 0: it has none */
    const char *obstacle;      /* why it cannot be probed; weak, static; NULL: it can */
};

struct usdt_probes {
    size_t count;
    struct usdt_probe *probes;
    size_t damaged; /* notes that were passed over because they make no sense */
};

/* Reads all probes of `provider`. No notes at all is fine: count 0. The caller frees the probes. */
int usdt_read(struct elf_file *file, const char *provider, struct usdt_probes *probes);
void usdt_free(struct usdt_probes *probes);

#endif
