/* SPDX-License-Identifier: MIT */
#include "libc_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of libc's functions by how they begin, the first that fits. `HELPER`: as good as nameless,
 * for it works for others. */
#define HELPER LOCK_SITE_CLASSES

static const struct {
    const char *begins;
    const char *holds; /* NULL: whatever */
    uint8_t class;
} name_rows[] = {
    {"__lll_lock_wait_private", NULL, LOCK_SITE_PRIVATE},
    {"__lll_", NULL, HELPER},
    {"__futex_", NULL, HELPER},
    {"futex_", NULL, HELPER},
    {"pthread_mutex_", NULL, LOCK_SITE_MUTEX},
    {"__pthread_mutex_", NULL, LOCK_SITE_MUTEX},
    {"mtx_", NULL, LOCK_SITE_MUTEX},
    {"pthread_rwlock_", "rdlock", LOCK_SITE_READ},
    {"pthread_rwlock_", "wrlock", LOCK_SITE_WRITE},
    {"pthread_rwlock_", NULL, LOCK_SITE_RWLOCK},
    {"__pthread_rwlock_", "rdlock", LOCK_SITE_READ},
    {"__pthread_rwlock_", "wrlock", LOCK_SITE_WRITE},
    {"__pthread_rwlock_", NULL, LOCK_SITE_RWLOCK},
    {"pthread_cond_", NULL, LOCK_SITE_CONDVAR},
    {"__pthread_cond_", NULL, LOCK_SITE_CONDVAR},
    {"__condvar_", NULL, LOCK_SITE_CONDVAR},
    {"cnd_", NULL, LOCK_SITE_CONDVAR},
    {"sem_", NULL, LOCK_SITE_SEMAPHORE},
    {"__new_sem_", NULL, LOCK_SITE_SEMAPHORE},
    {"pthread_join", NULL, LOCK_SITE_JOIN},
    {"pthread_timedjoin_np", NULL, LOCK_SITE_JOIN},
    {"pthread_tryjoin_np", NULL, LOCK_SITE_JOIN},
    {"pthread_clockjoin_np", NULL, LOCK_SITE_JOIN},
    {"__pthread_clockjoin_ex", NULL, LOCK_SITE_JOIN},
    {"thrd_join", NULL, LOCK_SITE_JOIN},
    {"pthread_barrier_", NULL, LOCK_SITE_BARRIER},
    {"pthread_once", NULL, LOCK_SITE_ONCE},
    {"__pthread_once", NULL, LOCK_SITE_ONCE},
    {"call_once", NULL, LOCK_SITE_ONCE},
    {"syscall", NULL, LOCK_SITE_SYSCALL},
};

static uint8_t class_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(name_rows) / sizeof(name_rows[0]); i++)
        if (strncmp(name, name_rows[i].begins, strlen(name_rows[i].begins)) == 0 &&
            (!name_rows[i].holds || strstr(name, name_rows[i].holds)))
            return name_rows[i].class;
    return LOCK_SITE_LIBC;
}

size_t libc_code_function(const struct libc_code *code, uint64_t address)
{
    size_t low = 0, high = code->function_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code->functions[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= code->functions[low - 1].end)
        return SIZE_MAX;
    return low - 1;
}

/* The function that begins there. */
static size_t function_at(const struct libc_code *code, uint64_t address)
{
    size_t found = libc_code_function(code, address);
    return found != SIZE_MAX && code->functions[found].begin == address ? found : SIZE_MAX;
}

static int read_rows(const struct elf_image *image, struct libc_code *code)
{
    uint64_t low, high;
    const Elf64_Shdr *section = elf_image_section(image, ".eh_frame");
    if (!section || !elf_image_occupied(section) || !elf_image_span(image, &low, &high))
        return -EINVAL;
    uint8_t *bytes = elf_image_load(image, section->sh_offset, section->sh_size);
    if (!bytes)
        return -EINVAL;
    struct eh_frame frame = {bytes, section->sh_size, section->sh_addr, low, high};
    code->low = low;
    int error = unwind_rows_make(&frame, &code->rows);
    free(bytes);
    return error;
}

static int find_functions(struct libc_code *code)
{
    const struct unwind_rows *rows = &code->rows;
    code->functions = calloc(rows->count + 1, sizeof(*code->functions));
    if (!code->functions)
        return -ENOMEM;
    for (size_t i = 0; i < rows->count; i++) {
        const struct unwind_row *row = &rows->rows[i];
        uint64_t address = code->low + row->start;
        struct code_function *last =
            code->function_count ? &code->functions[code->function_count - 1] : NULL;
        if (row->rbp & ROW_STARTS_FUNCTION) {
            if (last && last->end == UINT64_MAX)
                last->end = address;
            code->functions[code->function_count++] =
                (struct code_function){.begin = address, .end = UINT64_MAX};
        } else if (row->cfa == CFA_NO_ROW && last && last->end == UINT64_MAX) {
            last->end = address;
        }
    }
    if (code->function_count && code->functions[code->function_count - 1].end == UINT64_MAX)
        code->functions[code->function_count - 1].end =
            code->functions[code->function_count - 1].begin + 1;
    return 0;
}

/* Gives names' classes to the functions that begin where the symbols say. */
static void read_symbols(const struct elf_image *image, struct libc_code *code, const char *table,
                         const char *strings)
{
    const Elf64_Shdr *symbols = elf_image_section(image, table);
    const Elf64_Shdr *names = elf_image_section(image, strings);
    if (!symbols || !names || !elf_image_occupied(symbols) || !elf_image_occupied(names))
        return;
    uint8_t *rows = elf_image_load(image, symbols->sh_offset, symbols->sh_size);
    char *text = (char *)elf_image_load(image, names->sh_offset, names->sh_size);
    size_t count = rows && text ? symbols->sh_size / sizeof(Elf64_Sym) : 0;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, rows + i * sizeof(symbol), sizeof(symbol));
        int type = ELF64_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_name >= names->sh_size)
            continue;
        size_t at = function_at(code, symbol.st_value);
        uint8_t class = class_of_name(text + symbol.st_name);
        if (at == SIZE_MAX || class == HELPER)
            continue;
        struct code_function *function = &code->functions[at];
        if (!function->named || function->class == LOCK_SITE_LIBC)
            function->class = class;
        function->named = true;
    }
    free(rows);
    free(text);
}

static int add_call(struct libc_code *code, struct code_call call)
{
    if (code->call_count == code->call_capacity) {
        size_t capacity = code->call_capacity ? 2 * code->call_capacity : 4096;
        struct code_call *calls = realloc(code->calls, capacity * sizeof(*calls));
        if (!calls)
            return -ENOMEM;
        code->calls = calls;
        code->call_capacity = capacity;
    }
    code->calls[code->call_count++] = call;
    return 0;
}

static int add_futex(struct libc_code *code, uint64_t behind)
{
    if (code->futex_count == code->futex_capacity) {
        size_t capacity = code->futex_capacity ? 2 * code->futex_capacity : 128;
        uint64_t *futexes = realloc(code->futexes, capacity * sizeof(*futexes));
        if (!futexes)
            return -ENOMEM;
        code->futexes = futexes;
        code->futex_capacity = capacity;
    }
    code->futexes[code->futex_count++] = behind;
    return 0;
}

static bool has_bytes(const uint8_t *bytes, size_t size, const uint8_t *wanted, size_t length)
{
    return memmem(bytes, size, wanted, length) != NULL;
}

/* Looks through the bytes of one function for futex calls, and for calls and jumps to the beginning
 * of others. Not every byte begins an instruction; what only looks like one does no harm: no futex
 * call will ever come from there. */
static int read_function(struct libc_code *code, size_t index, const uint8_t *bytes, size_t size)
{
    static const uint8_t number[] = {0xb8, 0xca, 0, 0, 0}; /* mov $202,%eax: futex */
    struct code_function *function = &code->functions[index];
    /* syscall(2) has its number from its caller */
    bool futex =
        function->class == LOCK_SITE_SYSCALL || has_bytes(bytes, size, number, sizeof(number));
    int error = 0;
    for (size_t i = 0; i + 1 < size && !error; i++) {
        uint64_t address = function->begin + i;
        if (bytes[i] == 0x0f && bytes[i + 1] == 0x05 && futex) {
            function->calls_kernel = true;
            error = add_futex(code, address + 2);
        } else if ((bytes[i] == 0xe8 || bytes[i] == 0xe9) && i + 5 <= size) {
            int32_t distance;
            memcpy(&distance, bytes + i + 1, sizeof(distance));
            size_t to = function_at(code, address + 5 + (uint64_t)(int64_t)distance);
            if (to != SIZE_MAX && to != index && !code->functions[to].named)
                error = add_call(code, (struct code_call){.from = index,
                                                          .to = to,
                                                          .behind = address + 5,
                                                          .jump = bytes[i] == 0xe9});
        }
    }
    return error;
}

static int read_code(const struct elf_image *image, struct libc_code *code)
{
    const Elf64_Shdr *text = elf_image_section(image, ".text");
    if (!text || !elf_image_occupied(text))
        return -EINVAL;
    uint8_t *bytes = elf_image_load(image, text->sh_offset, text->sh_size);
    if (!bytes)
        return -EINVAL;
    int error = 0;
    for (size_t i = 0; i < code->function_count && !error; i++) {
        const struct code_function *function = &code->functions[i];
        uint64_t begin = function->begin - text->sh_addr;
        if (function->begin < text->sh_addr || begin >= text->sh_size)
            continue;
        uint64_t size = function->end - function->begin;
        if (size > text->sh_size - begin)
            size = text->sh_size - begin;
        error = read_function(code, i, bytes + begin, size);
    }
    free(bytes);
    return error;
}

/* Who is left by a jump to one that makes futex calls makes them, too. */
static void spread_kernel_calls(struct libc_code *code)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < code->call_count; i++) {
            const struct code_call *call = &code->calls[i];
            if (call->jump && code->functions[call->to].calls_kernel &&
                !code->functions[call->from].calls_kernel) {
                code->functions[call->from].calls_kernel = true;
                changed = true;
            }
        }
    }
}

/* Who has no name is of the class of its callers, if they are of one. */
static void spread_classes(struct libc_code *code)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < code->call_count; i++) {
            const struct code_call *call = &code->calls[i];
            const struct code_function *from = &code->functions[call->from];
            struct code_function *to = &code->functions[call->to];
            bool differs = to->class && from->class && to->class != from->class;
            if (!to->mixed && (differs || (from->mixed && call->jump))) {
                to->mixed = true;
                changed = true;
            } else if (!to->class && from->class) {
                to->class = from->class;
                changed = true;
            }
        }
    }
    for (size_t i = 0; i < code->function_count; i++) {
        struct code_function *function = &code->functions[i];
        if (function->mixed)
            function->class = LOCK_SITE_LIBC;
        /* what condition variables alone leave to others is taking their mutex again; they sleep
         * by a function that semaphores sleep by as well */
        else if (function->class == LOCK_SITE_CONDVAR && !function->named)
            function->class = LOCK_SITE_MUTEX;
    }
}

uint16_t libc_code_frame(const struct libc_code *code, uint64_t address)
{
    const struct unwind_row *row = unwind_rows_find(&code->rows, address - code->low);
    if (!row || row->cfa != CFA_RSP || row->cfa_offset < 8 || row->cfa_offset > 4096)
        return 0xffff;
    return (uint16_t)(row->cfa_offset - 8);
}

int libc_code_read(const struct elf_image *image, struct libc_code *code)
{
    *code = (struct libc_code){0};
    int error = read_rows(image, code);
    if (!error)
        error = find_functions(code);
    if (error)
        return error;
    read_symbols(image, code, ".dynsym", ".dynstr");
    read_symbols(image, code, ".symtab", ".strtab");
    error = read_code(image, code);
    if (!error) {
        spread_kernel_calls(code);
        spread_classes(code);
    }
    return error;
}

void libc_code_free(struct libc_code *code)
{
    free(code->functions);
    free(code->calls);
    free(code->futexes);
    unwind_rows_free(&code->rows);
    *code = (struct libc_code){0};
}
