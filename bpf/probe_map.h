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
 *       symbol: _ZN3OSD10enqueue_op...   or a list of such: the first that the program has; a name
 *                                 with * must fit exactly one
 *       detail: basic             from this level on (basic, standard, deep; left out: standard); a
 *                                 list: at these alone
 *       required: true            left out: false, the point is done without where it is missing
 *       key: "*rsi"               how to come to the key; arg0, arg1 likewise, left out: 0
 *       when: "esi < 0"           left out: at every hit
 *     - function: TrackedOp::mark_event(string_view, utime_t)
 *       symbol: ...
 *       key: rdi
 *       arg0: rcx
 *       needs: message.tid        of no use without this field, which another row has
 *       without: message.tid      only where this field is not known: then another row tells more
 *       positive: true            no event unless arg0 is above 0
 *       through: true             the key is a number: an event for each since the last hit, too
 *       kind: message             of the key in arg0 of LINK and MOVE points
 *       clock: utime              arg0 of STAMP points is packed seconds and ns of the wall clock
 *       text: rdx                 address of a text that says which point it is
 *       length: rsi
 *       texts:
 *         op.throttled: [throttled]
 *         op.delayed: [waiting for active, ...]
 *         ignore: [reached_pg]    known, and of no interest
 *
 *     - function: PG::lock(bool)  no point: the thread only remembers when it came here last
 *       symbol: ...
 *       remember: true
 *   classes: {42: [_ZTV6MOSDOp]}  numbers for classes, by the symbols of their virtual tables
 *   layouts:                      optional: where fields lie, in the programs with these build-ids
 *     - build_id: fb66...
 *       fields: {message.tid: 34}
 *   like: 16.2.15                 instead of probes and classes: those of that version, but the
 *                                 functions' parameters may have other types
 *   verified: false               no program of this version was at hand; left out: true
 *
 * Several rows may name the same function: one hit serves them all, in the order of the rows.
 *
 * An expression is a register as the function finds it at its entry (rdi rsi rdx rcx r8 r9 rsp, or
 * edi ... r9d for an int), `*X` for the 8 bytes at X, `*(X+16)` likewise with an offset (up to
 * three such loads), `int(*X)` for the 4 bytes there, signed, `X+16`, `-X` for the negated value, a
 * number, `remembered` for the time that the thread remembered, or `class(*X)` for the number of
 * the class of the object at X. The caller's stack arguments begin at rsp+8. An offset may be the
 * name of a field of `layouts`
 * (`*(rsi+message.tid)`): where the program's build-id is not there, the row is left out.
 */

/* How much is probed; not said: standard. */
enum probe_detail { DETAIL_NOT_SAID, DETAIL_BASIC, DETAIL_STANDARD, DETAIL_DEEP, DETAIL_COUNT };
extern const char *const probe_detail_names[DETAIL_COUNT];

/* The level with this name; -EINVAL, with the message, when there is none. */
int probe_detail_by_name(const char *name);

/* Where a field lies is known for one build only; until then its place in an expression is taken
 * by PROBE_FIELD + its number. */
#define PROBE_FIELD 0x70000000
/* The number of the field with this name ("message.tid"); -ENOENT, no message. */
int probe_field_by_name(const char *name, size_t length);
#define PROBE_FIELDS 32

/* Where the fields of one build lie. */
struct probe_layout {
    char *build_id;                /* in hex; owned */
    int32_t offsets[PROBE_FIELDS]; /* -1: not told */
};

/* A class of the daemon, by the symbol of its virtual table. */
struct probe_class {
    uint32_t number;
    char *symbol; /* owned */
};

struct probe_text {
    char *text;     /* as the daemon says it; owned */
    uint32_t point; /* enum point, or UPROBE_IGNORED */
};

struct probe_row {
    int line;
    int point; /* enum point; -1: the texts say */
    bool required;
    bool utime_stamp; /* arg0 of STAMP points is a packed utime_t */
    int needs;        /* a field that must be known, though no expression has it; -1: none */
    int without;      /* a field that makes the row needless; -1: none */
    uint8_t details;  /* bit set of (1 << enum probe_detail) at which it is probed */
    char **symbols;   /* alternatives, the best first; owned, and they are */
    size_t symbol_count;
    char *symbol;   /* the first of them; weak */
    char *function; /* for people; owned */
    struct uprobe_site site;
    unsigned registers; /* bit set of (1 << enum uprobe_register) that the site must leave alone */
    size_t text_count;
    struct probe_text *texts; /* owned */
};

struct probe_map {
    char *file; /* owned */
    char *daemon;
    char *version;
    bool verified; /* tried with a program of this version */
    size_t count;
    struct probe_row *rows;
    size_t layout_count;
    struct probe_layout *layouts; /* owned */
    size_t class_count;
    struct probe_class *classes; /* owned */
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

/* The row as it is for a program with this layout (NULL: none is known). -ENOENT with the message
 * when it needs a field that is not known. */
int probe_row_site(const struct probe_row *row, const struct probe_layout *layout,
                   struct uprobe_site *site);

/* Whether the row is only for programs of which less is known. */
bool probe_row_is_needless(const struct probe_row *row, const struct probe_layout *layout);

/* The layout for a build-id, or NULL. */
const struct probe_layout *probe_map_layout(const struct probe_map *map, const char *build_id);

/* The map for a program: one that knows its build-id; else the one for its version, as
 * probe_map_find() has it; else, from the newest down, one all of whose required functions the
 * program has. *exact: it is of the very build or version. */
int probe_map_choose(const char *directory, const char *program, const char *daemon,
                     const char *version, struct probe_map **map, bool *exact);

/* Where the maps lie: $OPTRAIL_MAPS, else the installation's directory, else the source tree's.
 * Static storage. */
const char *probe_map_directory(void);

/* Reads one expression ("*(rsp+16)"); -EINVAL, no message, when it is none. Adds its register to
 * the set. */
int probe_expression(const char *text, struct uprobe_fetch *fetch, unsigned *registers);

#endif
