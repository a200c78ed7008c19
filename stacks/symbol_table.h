/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SYMBOL_TABLE_H
#define OPTRAIL_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_image.h"

struct symbol {
    uint64_t address; /* as the file says */
    uint64_t size;    /* bytes; 0: unknown */
    uint32_t name;    /* offset in the strings */
    uint8_t rank;     /* of those at one address the lowest is the one to print */
    uint8_t strings;  /* which strings */
};

/* The functions that an ELF file names, by address. */
struct symbol_table {
    struct symbol *symbols; /* owned; by address, then rank */
    size_t count, capacity;
    struct symbol_strings {
        char *bytes; /* owned */
        size_t size;
    } strings[4];
    size_t strings_count;
};

/* Adds .dynsym and .symtab of an image, as far as they are sound. What there is no memory for is
 * left out. */
void symbol_table_add(struct symbol_table *table, const struct elf_image *image);

/* To be called behind the last _add, before the first _find. */
void symbol_table_sort(struct symbol_table *table);
void symbol_table_free(struct symbol_table *table);

/* The function that an address lies in. Of one without a size it is known where it starts only:
 * exactly at `from`, or with `gap` not before it (assembler's functions, of which .eh_frame says
 * nothing). NULL: none. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address,
                                       uint64_t from, bool gap);

/* Its name, as the file says: weak, ended by a zero byte. */
const char *symbol_name(const struct symbol_table *table, const struct symbol *symbol);

#endif
