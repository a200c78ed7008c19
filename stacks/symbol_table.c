/* SPDX-License-Identifier: MIT */
#include "symbol_table.h"

#include <stdlib.h>
#include <string.h>

/* Functions that overlap are rare: aliases, and assembler's entries into the middle. */
enum { LOOKED_AT_MAX = 64, SYMBOLS_MAX = 16 << 20 };

static bool has_room(struct symbol_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity ? 2 * table->capacity : 1024;
    void *grown = table->count < SYMBOLS_MAX
                      ? realloc(table->symbols, capacity * sizeof(*table->symbols))
                      : NULL;
    if (!grown)
        return false;
    table->symbols = grown;
    table->capacity = capacity;
    return true;
}

/* Of several names the public one: global before local, without underscores before with them. */
static uint8_t rank_of(const Elf64_Sym *raw, const char *name)
{
    uint8_t rank = 0;
    unsigned type = ELF64_ST_TYPE(raw->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC)
        rank += 64;
    if (raw->st_size == 0)
        rank += 32;
    if (ELF64_ST_BIND(raw->st_info) == STB_LOCAL)
        rank += 16;
    /* but _Z is the beginning of any C++ name */
    if (strncmp(name, "_Z", 2) != 0)
        for (unsigned i = 0; i < 4 && name[i] == '_'; i++)
            rank += 4;
    return ELF64_ST_BIND(raw->st_info) == STB_WEAK ? rank + 1 : rank;
}

static void add_symbol(struct symbol_table *table, const struct elf_image *image,
                       const Elf64_Sym *raw)
{
    const struct symbol_strings *strings = &table->strings[table->strings_count - 1];
    unsigned type = ELF64_ST_TYPE(raw->st_info);
    if (raw->st_shndx == SHN_UNDEF || raw->st_name == 0 || raw->st_name >= strings->size)
        return;
    if (type != STT_FUNC && type != STT_GNU_IFUNC) {
        /* assembler's functions often have no type: their section tells */
        if (type != STT_NOTYPE || raw->st_shndx >= image->section_count ||
            !(image->sections[raw->st_shndx].sh_flags & SHF_EXECINSTR))
            return;
    }
    const char *name = strings->bytes + raw->st_name;
    if (name[0] == '\0' || !has_room(table))
        return;
    table->symbols[table->count++] = (struct symbol){
        .address = raw->st_value,
        .size = raw->st_size,
        .name = raw->st_name,
        .rank = rank_of(raw, name),
        .strings = (uint8_t)(table->strings_count - 1),
    };
}

static void add_section(struct symbol_table *table, const struct elf_image *image,
                        const Elf64_Shdr *section)
{
    if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= image->section_count ||
        table->strings_count == sizeof(table->strings) / sizeof(*table->strings))
        return;
    const Elf64_Shdr *linked = &image->sections[section->sh_link];
    if (linked->sh_type != SHT_STRTAB || !elf_image_occupied(section))
        return;
    char *bytes = (char *)elf_image_load(image, linked->sh_offset, linked->sh_size);
    uint8_t *raw = elf_image_load(image, section->sh_offset, section->sh_size);
    if (bytes && raw) {
        table->strings[table->strings_count++] =
            (struct symbol_strings){.bytes = bytes, .size = linked->sh_size};
        for (size_t i = 0; i < section->sh_size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, raw + i * sizeof(symbol), sizeof(symbol));
            add_symbol(table, image, &symbol);
        }
        bytes = NULL;
    }
    free(bytes);
    free(raw);
}

void symbol_table_add(struct symbol_table *table, const struct elf_image *image)
{
    static const struct {
        const char *name;
        uint32_t type;
    } wanted[] = {{".dynsym", SHT_DYNSYM}, {".symtab", SHT_SYMTAB}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const Elf64_Shdr *section = elf_image_section(image, wanted[i].name);
        if (section && section->sh_type == wanted[i].type)
            add_section(table, image, section);
    }
}

static int compare(const void *a, const void *b)
{
    const struct symbol *left = a;
    const struct symbol *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->name > right->name) - (left->name < right->name);
}

void symbol_table_sort(struct symbol_table *table)
{
    if (table->count > 0)
        qsort(table->symbols, table->count, sizeof(*table->symbols), compare);
}

void symbol_table_free(struct symbol_table *table)
{
    for (size_t i = 0; i < table->strings_count; i++)
        free(table->strings[i].bytes);
    free(table->symbols);
    *table = (struct symbol_table){0};
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address,
                                       uint64_t from, bool gap)
{
    size_t low = 0, high = table->count;
    const struct symbol *found = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low, looked = 0; i-- > 0 && looked < LOOKED_AT_MAX; looked++) {
        const struct symbol *symbol = &table->symbols[i];
        if (found && symbol->address != found->address)
            break;
        bool inside = symbol->size > 0
                          ? address - symbol->address < symbol->size
                          : symbol->address == from || (gap && symbol->address >= from);
        if (inside && (!found || symbol->rank < found->rank))
            found = symbol;
    }
    return found;
}

const char *symbol_name(const struct symbol_table *table, const struct symbol *symbol)
{
    return table->strings[symbol->strings].bytes + symbol->name;
}
