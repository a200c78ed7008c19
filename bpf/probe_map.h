/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_MAP_H
#define OPTRAIL_PROBE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uprobe.h"

/*
 * A probe map says where the points of the catalogue sit in an unmodified daemon: a YAML file,
 * probes/maps/<daemon>/<version>.yaml. Everything in it follows from function signatures (and the
 * calling convention), not from the layout of structures; the mangled symbol carries the signature,
 * so a daemon that has the symbol has the arguments.
 *
 *   daemon: ceph-osd
 *   version: 16.2.15
 *   probes:
 *     - point: osd.enqueue
 *       function: OSD::enqueue_op(spg_t, OpRequestRef&&, epoch_t)
 *       symbol: _ZN3OSD10enqueue_op...
 *       required: true            left out: false, the point is done without where it is missing
 *       key: "*rsi"               how to come to the key; arg0, arg1 likewise, left out: 0
 *       when: "esi < 0"           left out: at every hit
 *     - function: TrackedOp::mark_event(string_view, utime_t)
 *       symbol: ...
 *       key: rdi
 *       arg0: rcx
 *       clock: utime              arg0 of STAMP points is packed seconds and ns of the wall clock
 *       text: rdx                 address of a text that says which point it is
 *       length: rsi
 *       texts:
 *         op.throttled: [throttled]
 *         op.delayed: [waiting for active, ...]
 *         ignore: [reached_pg]    known, and of no interest
 *
 * Two probes may name the same function: the second one then sits a few instructions behind the
 * first, so that their events come in the order of the rows.
 *
 * An expression is a register as the function finds it at its entry (rdi rsi rdx rcx r8 r9 rsp, or
 * edi ... r9d for an int), `*X` for the 8 bytes at X, `*(X+16)` likewise with an offset (up to
 * three such loads), `-X` for the negated value, or a number. The caller's stack arguments begin
 * at rsp+8.
 */

struct probe_text {
    char *text;     /* as the daemon says it; owned */
    uint32_t point; /* enum point, or UPROBE_IGNORED */
};

struct probe_row {
    int line;
    int point; /* enum point; -1: the texts say */
    bool required;
    bool utime_stamp; /* arg0 of STAMP points is a packed utime_t */
    char *symbol;     /* owned */
    char *function;   /* for people; owned */
    struct uprobe_site site;
    unsigned registers; /* bit set of (1 << enum uprobe_register) that the site must leave alone */
    size_t text_count;
    struct probe_text *texts; /* owned */
};

struct probe_map {
    char *file; /* owned */
    char *daemon;
    char *version;
    size_t count;
    struct probe_row *rows;
};

/* Reads a map; refuses, with file, line and what to do, what is not YAML, unknown keys, points and
 * expressions, rows without symbol or key, texts that cannot be told apart. The caller frees it. */
int probe_map_read(const char *file, struct probe_map **map);
void probe_map_free(struct probe_map *map); /* NULL is fine */

/* The map for a daemon of this version below `directory`: the very version's, else the newest one
 * of the same release (16.2.*), of which *exact = false tells. -ENOENT with the message, which
 * lists what there is, when none fits. */
int probe_map_find(const char *directory, const char *daemon, const char *version,
                   struct probe_map **map, bool *exact);

/* Where the maps lie: $OPTRAIL_MAPS, else the installation's directory, else the source tree's.
 * Static storage. */
const char *probe_map_directory(void);

/* Reads one expression ("*(rsp+16)"); -EINVAL, no message, when it is none. Adds its register to
 * the set. */
int probe_expression(const char *text, struct uprobe_fetch *fetch, unsigned *registers);

#endif
