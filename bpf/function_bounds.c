/* SPDX-License-Identifier: MIT */
#include "function_bounds.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

/* What every linker writes: version 1; the address of .eh_frame relative to its own place, the
 * number of rows, and rows relative to the table's beginning, all of 4 bytes (DW_EH_PE_*). */
static const uint8_t understood[4] = {1, 0x1b, 0x03, 0x3b};

#define MAX_TABLE (64u << 20)

struct row {
    int32_t function, description; /* relative to the table */
};

struct head {
    uint8_t kind[4];
    int32_t frames;
    uint32_t rows;
};

struct function_bounds {
    const struct elf_file *file; /* weak */
    uint64_t address;            /* of the table */
    size_t count;
    struct row rows[]; /* sorted by function */
};

static int read_table(const struct elf_file *file, const GElf_Phdr *header,
                      struct function_bounds **result)
{
    struct head head;
    size_t size = header->p_filesz;
    if (size < sizeof(head) || size > MAX_TABLE ||
        elf_file_read(file, header->p_offset, &head, sizeof(head)) != (long)sizeof(head) ||
        memcmp(head.kind, understood, sizeof(understood)) != 0 || head.rows == 0 ||
        head.rows > (size - sizeof(head)) / sizeof(struct row))
        return 0;
    size_t bytes = head.rows * sizeof(struct row);
    struct function_bounds *bounds = malloc(sizeof(*bounds) + bytes);
    if (!bounds)
        return err_no_memory();
    bounds->file = file;
    bounds->address = header->p_vaddr;
    bounds->count = head.rows;
    if (elf_file_read(file, header->p_offset + sizeof(head), bounds->rows, bytes) != (long)bytes) {
        free(bounds);
        return 0;
    }
    *result = bounds;
    return 0;
}

int function_bounds_read(const struct elf_file *file, struct function_bounds **bounds)
{
    GElf_Phdr header;
    *bounds = NULL;
    return elf_file_segment(file, PT_GNU_EH_FRAME, &header) ? 0 : read_table(file, &header, bounds);
}

void function_bounds_free(struct function_bounds *bounds)
{
    free(bounds);
}

static uint64_t address_of(const struct function_bounds *bounds, size_t row)
{
    return bounds->address + (uint64_t)(int64_t)bounds->rows[row].function;
}

/* Where the function of a row ends. Its description says how long it is: length of the description,
 * place of what it has in common with others, the function's address, its size; the address is
 * relative to its own place, as compilers for x86-64 have it. Where that is not so, it ends where
 * the next one begins. */
static uint64_t end_of(const struct function_bounds *bounds, size_t row)
{
    struct {
        uint32_t length, common;
        int32_t function;
        uint32_t size;
    } description;
    uint64_t start = address_of(bounds, row);
    uint64_t next = row + 1 < bounds->count ? address_of(bounds, row + 1) : start + 1;
    uint64_t at = bounds->address + (uint64_t)(int64_t)bounds->rows[row].description, offset;
    if (elf_file_offset(bounds->file, at, false, &offset) ||
        elf_file_read(bounds->file, offset, &description, sizeof(description)) !=
            (long)sizeof(description) ||
        at + 8 + (uint64_t)(int64_t)description.function != start || description.size == 0 ||
        (row + 1 < bounds->count && description.size > next - start))
        return next;
    return start + description.size;
}

bool function_bounds_find(const struct function_bounds *bounds, uint64_t address, uint64_t *start,
                          uint64_t *end)
{
    size_t low = 0, high = bounds->count; /* the last row that is not behind the address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address_of(bounds, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    *start = address_of(bounds, low - 1);
    *end = end_of(bounds, low - 1);
    return *start <= address && address < *end;
}
