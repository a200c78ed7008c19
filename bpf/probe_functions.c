/* SPDX-License-Identifier: MIT */
#include "probe_functions.h"

#include <stdlib.h>

#include "err.h"

static int find_alternative(struct elf_file *file, const struct probe_row *row,
                            struct elf_function *function)
{
    struct elf_function *found = calloc(row->symbol_count, sizeof(*found));
    if (!found)
        return err_no_memory();
    int error =
        elf_file_functions(file, (const char *const *)row->symbols, row->symbol_count, found);
    size_t first = 0;
    while (first + 1 < row->symbol_count && !found[first].address)
        first++;
    *function = found[first];
    free(found);
    return error;
}

/* All rows' first symbols in one walk through the tables; the few others one by one. */
int probe_functions_find(struct elf_file *file, const struct probe_row *const *rows, size_t count,
                         struct elf_function *functions)
{
    const char **symbols = calloc(count, sizeof(*symbols));
    if (!symbols)
        return err_no_memory();
    for (size_t i = 0; i < count; i++)
        symbols[i] = rows[i]->symbol;
    int error = elf_file_functions(file, symbols, count, functions);
    free(symbols);
    for (size_t i = 0; !error && i < count; i++)
        if (!functions[i].address && rows[i]->symbol_count > 1)
            error = find_alternative(file, rows[i], &functions[i]);
    return error;
}
