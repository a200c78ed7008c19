/* SPDX-License-Identifier: MIT */
#include "kernel_symbols.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

struct kernel_symbol {
    uint64_t address;
    size_t name; /* offset in the names */
};

static int add(struct kernel_symbols *symbols, uint64_t address, const char *name)
{
    size_t length = strlen(name) + 1;
    if (symbols->count == symbols->capacity) {
        size_t capacity = symbols->capacity ? 2 * symbols->capacity : 16384;
        struct kernel_symbol *rows = realloc(symbols->rows, capacity * sizeof(*rows));
        if (!rows)
            return err_no_memory();
        symbols->rows = rows;
        symbols->capacity = capacity;
    }
    if (symbols->names_size + length > symbols->names_capacity) {
        size_t capacity = 2 * symbols->names_capacity + (1u << 18);
        char *names = realloc(symbols->names, capacity);
        if (!names)
            return err_no_memory();
        symbols->names = names;
        symbols->names_capacity = capacity;
    }
    memcpy(symbols->names + symbols->names_size, name, length);
    symbols->rows[symbols->count++] = (struct kernel_symbol){address, symbols->names_size};
    symbols->names_size += length;
    return 0;
}

static int by_address(const void *left, const void *right)
{
    const struct kernel_symbol *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* "ffffffff81000000 T name" and perhaps a module; false if it is no function, or hidden. There are
 * a hundred thousand lines and more: sscanf() would be a tenth of what a capture costs to begin. */
static bool read_line(char *line, uint64_t *address, char **name)
{
    char *at = line;
    *address = 0;
    for (; isxdigit((unsigned char)*at); at++) {
        char digit = (char)tolower((unsigned char)*at);
        *address = *address << 4 | (uint64_t)(digit >= 'a' ? digit - 'a' + 10 : digit - '0');
    }
    if (*address == 0 || *at++ != ' ' || !*at || !strchr("TtWw", *at++) || *at++ != ' ')
        return false;
    *name = at;
    at[strcspn(at, " \t\n")] = 0;
    return **name != 0;
}

int kernel_symbols_read(struct kernel_symbols *symbols)
{
    char line[1024], *name;
    uint64_t address;
    int result = 0;
    FILE *file = fopen("/proc/kallsyms", "re");
    while (result == 0 && file && fgets(line, sizeof(line), file))
        if (read_line(line, &address, &name))
            result = add(symbols, address, name);
    if (file)
        fclose(file);
    if (symbols->count > 0)
        qsort(symbols->rows, symbols->count, sizeof(*symbols->rows), by_address);
    return result;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
    free(symbols->rows);
    free(symbols->names);
    *symbols = (struct kernel_symbols){0};
}

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? symbols->names + symbols->rows[low - 1].name : NULL;
}
