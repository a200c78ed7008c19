/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_KEY_TABLE_H
#define OPTRAIL_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which trail a key leads to. Open addressing with linear probing; a removal shifts the entries
 * behind it back (Knuth, TAOCP 6.4, algorithm R), so that a table that lives for days does not
 * fill up with tombstones. Grows by itself, never shrinks. Not thread-safe.
 */
struct key_name {
    uint64_t key;
    uint32_t pid;
    uint32_t kind; /* enum key_kind */
};

struct key_entry {
    struct key_name name;
    uint32_t slot; /* of the trail; KEY_TABLE_NONE: the entry is free */
    uint32_t unused;
};

#define KEY_TABLE_NONE UINT32_MAX

struct key_table {
    struct key_entry *entries; /* owned */
    size_t mask;               /* capacity - 1 */
    size_t used;
};

static inline bool key_name_equal(const struct key_name *a, const struct key_name *b)
{
    return a->key == b->key && a->pid == b->pid && a->kind == b->kind;
}

/* Addresses differ in their middle bits, sequence numbers in their low ones: a multiply and a
 * fold bring both to where the mask looks. */
static inline size_t key_name_hash(const struct key_name *name)
{
    uint64_t h = (name->key ^ ((uint64_t)name->pid << 32 | (uint64_t)name->kind << 24)) *
                 0x9e3779b97f4a7c15ull;
    return (size_t)(h ^ h >> 32);
}

int key_table_init(struct key_table *table);
void key_table_free(struct key_table *table);

/* The trail's slot, or KEY_TABLE_NONE. */
static inline uint32_t key_table_find(const struct key_table *table, const struct key_name *name)
{
    for (size_t i = key_name_hash(name) & table->mask;; i = (i + 1) & table->mask) {
        const struct key_entry *entry = &table->entries[i];
        if (entry->slot == KEY_TABLE_NONE || key_name_equal(&entry->name, name))
            return entry->slot;
    }
}

/* Binds the name to the slot, whatever it was bound to before. */
int key_table_put(struct key_table *table, const struct key_name *name, uint32_t slot);

/* Removes the name if it is bound to this slot. */
void key_table_remove(struct key_table *table, const struct key_name *name, uint32_t slot);

#endif
