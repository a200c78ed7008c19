/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_JOURNAL_FORMAT_H
#define MINISTORE_JOURNAL_FORMAT_H

#include <stdint.h>

/*
 * The journal file: two places for the superblock, of which the one with the higher generation
 * counts, then the ring. An entry is a header and its payload, padded to JOURNAL_ALIGN; it never
 * wraps: where the next entry is not found, it stands at the ring's beginning. Each start of the
 * daemon is a new incarnation: entries of an older one are never taken for valid, whatever their
 * sequence. Little-endian hosts only; crcs are zlib's crc32 over all that stands before them.
 */
#define JOURNAL_SUPER_MAGIC 0x4c4e524au /* "JRNL" */
#define JOURNAL_ENTRY_MAGIC 0x59544e45u /* "ENTY" */
#define JOURNAL_VERSION     1
#define JOURNAL_SUPER_SPACE 4096 /* of each of the two places */
#define JOURNAL_RING_BEGIN  (2 * JOURNAL_SUPER_SPACE)
#define JOURNAL_ALIGN       8

struct journal_super {
    uint32_t magic;
    uint32_t version;
    uint64_t generation;
    uint64_t incarnation;
    uint64_t ring_size;        /* bytes */
    uint64_t start;            /* where in the ring the entry trimmed + 1 is looked for */
    uint64_t trimmed;          /* all up to this sequence are applied and their files synced */
    uint32_t placement_groups; /* of the store: objects lie in a directory of their group */
    uint32_t crc;
};
_Static_assert(sizeof(struct journal_super) == 56, "no padding on disk");

struct journal_entry {
    uint32_t magic;
    uint32_t length; /* of the payload */
    uint64_t incarnation;
    uint64_t sequence;
    uint64_t object;
    uint64_t offset;
    uint32_t payload_crc;
    uint32_t crc;
};
_Static_assert(sizeof(struct journal_entry) == 48, "no padding on disk");

#endif
