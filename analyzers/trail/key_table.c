/* SPDX-License-Identifier: MIT */
#include "key_table.h"

#include <stdlib.h>

#include "err.h"

#define FIRST_CAPACITY 1024

static int allocate(struct key_table *table, size_t capacity)
{
    struct key_entry *entries = malloc(capacity * sizeof(*entries));
    if (!entries)
        return err_no_memory();
    for (size_t i = 0; i < capacity; i++)
        entries[i].slot = KEY_TABLE_NONE;
    table->entries = entries;
    table->mask = capacity - 1;
    table->used = 0;
    return 0;
}

int key_table_init(struct key_table *table)
{
    return allocate(table, FIRST_CAPACITY);
}

void key_table_free(struct key_table *table)
{
    free(table->entries);
    table->entries = NULL;
}

/* The entry of the name, or the free one where it belongs. */
static struct key_entry *locate(struct key_table *table, const struct key_name *name)
{
    size_t i = key_name_hash(name) & table->mask;
    while (table->entries[i].slot != KEY_TABLE_NONE &&
           !key_name_equal(&table->entries[i].name, name))
        i = (i + 1) & table->mask;
    return &table->entries[i];
}

static int grow(struct key_table *table)
{
    struct key_table larger;
    int rc = allocate(&larger, 2 * (table->mask + 1));
    if (rc < 0)
        return rc;
    for (size_t i = 0; i <= table->mask; i++)
        if (table->entries[i].slot != KEY_TABLE_NONE)
            *locate(&larger, &table->entries[i].name) = table->entries[i];
    larger.used = table->used;
    free(table->entries);
    *table = larger;
    return 0;
}

int key_table_put(struct key_table *table, const struct key_name *name, uint32_t slot)
{
    /* at most half full: a probe sequence stays within a cache line or two */
    if (2 * (table->used + 1) > table->mask) {
        int rc = grow(table);
        if (rc < 0)
            return rc;
    }
    struct key_entry *entry = locate(table, name);
    if (entry->slot == KEY_TABLE_NONE) {
        table->used++;
        entry->name = *name;
    }
    entry->slot = slot;
    return 0;
}

void key_table_remove(struct key_table *table, const struct key_name *name, uint32_t slot)
{
    struct key_entry *found = locate(table, name);
    if (found->slot != slot || slot == KEY_TABLE_NONE)
        return;
    table->used--;
    size_t hole = (size_t)(found - table->entries);
    for (size_t i = (hole + 1) & table->mask; table->entries[i].slot != KEY_TABLE_NONE;
         i = (i + 1) & table->mask) {
        size_t home = key_name_hash(&table->entries[i].name) & table->mask;
        /* may move into the hole only if that does not put it before its home */
        if (((i - home) & table->mask) >= ((i - hole) & table->mask)) {
            table->entries[hole] = table->entries[i];
            hole = i;
        }
    }
    table->entries[hole].slot = KEY_TABLE_NONE;
}
