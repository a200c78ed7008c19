/* SPDX-License-Identifier: MIT */
/* Functions and objects by name: one walk through the symbol tables finds all that are wanted. A
 * ceph-osd has 31,535 symbols, and a map some 100 names: the names stand in a hash table. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "err.h"
#include "fnv1a.h"

#define MAX_NAME 2048 /* longer names fit no pattern */
#define NONE     SIZE_MAX

/* What a walk through the symbol tables looks for. */
struct wanted {
    const char *const *names;
    size_t count;
    struct elf_function *functions; /* NULL: objects are wanted */
    uint64_t *addresses;

    size_t mask;   /* of the hash: its rows are a power of two */
    size_t *first; /* by hash: the first name, or NONE; owned */
    size_t *next;  /* by name: the next one of the same row, or of the patterns; owned */
    size_t patterns;
};

static uint64_t hash_of(const char *name)
{
    return fnv1a(FNV1A_BEGIN, name, strlen(name));
}

static int index_names(struct wanted *wanted)
{
    size_t rows = 64;
    while (rows < 4 * wanted->count)
        rows *= 2;
    wanted->mask = rows - 1;
    wanted->patterns = NONE;
    wanted->first = calloc(rows, sizeof(*wanted->first));
    wanted->next = calloc(wanted->count + 1, sizeof(*wanted->next));
    if (!wanted->first || !wanted->next)
        return err_no_memory();
    for (size_t i = 0; i < rows; i++)
        wanted->first[i] = NONE;
    for (size_t n = wanted->count; n-- > 0;) {
        const char *name = wanted->names[n];
        size_t *row =
            strchr(name, '*') ? &wanted->patterns : &wanted->first[hash_of(name) & wanted->mask];
        wanted->next[n] = *row;
        *row = n;
    }
    return 0;
}

static bool fits_pattern(const char *pattern, const char *name)
{
    return strncmp(pattern, name, strcspn(pattern, "*")) == 0 &&
           strnlen(name, MAX_NAME) < MAX_NAME && fnmatch(pattern, name, 0) == 0;
}

static void take(struct elf_file *file, const struct wanted *wanted, size_t n,
                 const GElf_Sym *symbol)
{
    uint64_t offset;
    if (!wanted->functions) {
        wanted->addresses[n] = symbol->st_value;
        return;
    }
    struct elf_function *function = &wanted->functions[n];
    if (elf_file_offset(file, symbol->st_value, true, &offset))
        return;
    if (function->address && function->address != symbol->st_value)
        function->ambiguous = true;
    if (!function->address)
        *function =
            (struct elf_function){.address = symbol->st_value,
                                  .size = symbol->st_size,
                                  .offset = offset,
                                  .indirect = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC};
}

/* Takes the symbols of one table that are wanted. */
static void look_through(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header,
                         const struct wanted *wanted)
{
    Elf_Data *data = elf_file_table(file, section);
    if (!data || header->sh_entsize == 0)
        return;
    int type = wanted->functions ? STT_FUNC : STT_OBJECT;
    size_t symbols = data->d_size / header->sh_entsize;
    for (size_t i = 0; i < symbols && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        int its = GELF_ST_TYPE(symbol.st_info);
        if (its != type && (its != STT_GNU_IFUNC || !wanted->functions))
            continue;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
            continue;
        const char *name = elf_file_string(file, header->sh_link, symbol.st_name);
        if (!name)
            continue;
        for (size_t n = wanted->first[hash_of(name) & wanted->mask]; n != NONE; n = wanted->next[n])
            if (strcmp(wanted->names[n], name) == 0)
                take(file, wanted, n, &symbol);
        for (size_t n = wanted->patterns; n != NONE; n = wanted->next[n])
            if (fits_pattern(wanted->names[n], name))
                take(file, wanted, n, &symbol);
    }
}

static int walk_tables(struct elf_file *file, struct wanted *wanted)
{
    Elf_Scn *section = NULL;
    int error = index_names(wanted);
    while (!error && (section = elf_nextscn(elf_file_handle(file), section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            error = err_set(EINVAL, "damaged ELF file: %s", elf_errmsg(-1));
        else if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
            look_through(file, section, &header, wanted);
    }
    free(wanted->first);
    free(wanted->next);
    return error;
}

int elf_file_functions(struct elf_file *file, const char *const *names, size_t count,
                       struct elf_function *functions)
{
    struct wanted wanted = {.names = names, .count = count, .functions = functions};
    memset(functions, 0, count * sizeof(*functions));
    return walk_tables(file, &wanted);
}

int elf_file_objects(struct elf_file *file, const char *const *names, size_t count,
                     uint64_t *addresses)
{
    struct wanted wanted = {.names = names, .count = count, .addresses = addresses};
    memset(addresses, 0, count * sizeof(*addresses));
    return walk_tables(file, &wanted);
}
