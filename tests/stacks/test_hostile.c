/* SPDX-License-Identifier: MIT */
/*
 * Files that are damaged on purpose. A real program's image is changed in thousands of ways, at
 * random (from a fixed seed) and where it hurts most; whatever comes of it, unwinding and naming
 * end soon, with sane answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols.h"
#include "unwinder.h"

enum { MUTATIONS = 6000, FRAMES = 64, STACK = 2048 };
#define BIAS ((uint64_t)0x555500000000)

static uint8_t *original;
static size_t original_size;
static uint64_t state = 88172645463325252;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int read_original(void **unused)
{
    (void)unused;
    FILE *file = fopen(SUBJECT, "rb");
    if (!file || fseek(file, 0, SEEK_END) < 0)
        return -1;
    original_size = (size_t)ftell(file);
    original = malloc(original_size);
    rewind(file);
    bool good = original && fread(original, 1, original_size, file) == original_size;
    fclose(file);
    return good ? 0 : -1;
}

static int free_original(void **unused)
{
    (void)unused;
    free(original);
    return 0;
}

/* An unwinder of a process in which this image alone is mapped. */
static struct unwinder *unwinder_of(uint8_t *bytes, size_t size)
{
    struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
    assert_non_null(unwinder);
    unwinder->maps.maps = calloc(1, sizeof(*unwinder->maps.maps));
    unwinder->maps.count = 1;
    assert_non_null(unwinder->maps.maps);
    struct process_map *map = unwinder->maps.maps;
    *map = (struct process_map){.path = strdup("/subject"), .tried = true, .bias = BIAS};
    map->module = stack_module_of_memory(bytes, size, "subject");
    assert_non_null(map->module);
    map->start = map->module->low + BIAS;
    map->end = map->module->high + BIAS;
    if (map->module->bad || map->start >= map->end) {
        map->start = BIAS;
        map->end = BIAS + original_size;
    }
    return unwinder;
}

/* Unwinds and names what is random, but looks like the program. */
static void use(struct unwinder *unwinder, unsigned stacks)
{
    const struct process_map *map = unwinder->maps.maps;
    uint64_t stack[STACK / 8], frames[FRAMES];
    enum unwind_end end;
    for (unsigned turn = 0; turn < stacks; turn++) {
        struct stack_snapshot snapshot = {.stack = (const uint8_t *)stack, .size = sizeof(stack)};
        for (size_t i = 0; i < STACK / 8; i++)
            stack[i] = chance() % 2 ? map->start + chance() % (map->end - map->start)
                                    : 0x7ffd00000000 + (chance() % STACK & ~7UL);
        for (size_t i = 0; i < STACK_REGISTERS; i++)
            snapshot.registers[i] = stack[chance() % (STACK / 8)];
        snapshot.registers[STACK_RSP] = 0x7ffd00000000;
        snapshot.registers[STACK_RIP] = map->start + chance() % (map->end - map->start);
        size_t count = unwinder_unwind(unwinder, &snapshot, frames, FRAMES, &end);
        assert_true(count >= 1 && count <= FRAMES && end < UNWIND_END_COUNT);
        char *text = symbols_text(unwinder, frames, count, turn % 2);
        assert_non_null(text);
        free(text);
        if (turn % 4 == 0)
            unwinder_by_libunwind(unwinder, &snapshot, frames, FRAMES, &end);
    }
}

/* Numbers that are more likely to hurt than random ones. */
static uint64_t evil(void)
{
    static const uint64_t numbers[] = {0,         1,          0x7f,          0x80,
                                       0xff,      0x7fffffff, 0xffffffff,    0x100000000,
                                       INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    return chance() % 2 ? numbers[chance() % (sizeof(numbers) / sizeof(*numbers))] : chance();
}

static void mutate(uint8_t *bytes, size_t from, size_t size)
{
    static const size_t widths[] = {1, 1, 2, 4, 8};
    size_t width = widths[chance() % (sizeof(widths) / sizeof(*widths))];
    uint64_t value = evil();
    if (size > width)
        memcpy(bytes + from + chance() % (size - width), &value, width);
}

/* Where a section's bytes lie in the original. */
static bool section(const char *name, size_t *from, size_t *size)
{
    struct elf_image image;
    bool found = false;
    assert_int_equal(elf_image_open_memory(&image, original, original_size), 0);
    const Elf64_Shdr *header = elf_image_section(&image, name);
    if (header) {
        *from = header->sh_offset;
        *size = header->sh_size;
        found = true;
    }
    elf_image_close(&image);
    return found;
}

static uint8_t *copy_of_original(size_t size)
{
    uint8_t *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, original, size);
    return copy;
}

static void mutate_and_use(size_t from, size_t size, unsigned mutations)
{
    uint8_t *bytes = copy_of_original(original_size);
    unsigned changes = 1 + (unsigned)(chance() % mutations);
    for (unsigned i = 0; i < changes; i++)
        mutate(bytes, from, size);
    struct unwinder *unwinder = unwinder_of(bytes, original_size);
    use(unwinder, 6);
    unwinder_close(unwinder);
}

static void mutate_section(const char *name)
{
    size_t from = 0, size = 0;
    assert_true(section(name, &from, &size));
    for (unsigned turn = 0; turn < MUTATIONS / 5; turn++)
        mutate_and_use(from, size, turn % 2 ? 4 : 200);
}

/* What is not changed is unwound: else nothing below says anything. */
static void test_original(void **unused)
{
    (void)unused;
    struct unwinder *unwinder = unwinder_of(copy_of_original(original_size), original_size);
    const struct stack_module *module = unwinder->maps.maps->module;
    assert_false(module->bad);
    assert_true(module->rows.count > 100 && module->header_entries > 50);
    assert_int_equal(module->rows.skipped, 0);
    use(unwinder, 500);
    struct unwinder_counts counts = unwinder_counts(unwinder);
    assert_true(counts.frames > counts.stacks);
    unwinder_close(unwinder);
}

static void test_eh_frame(void **unused)
{
    (void)unused;
    mutate_section(".eh_frame");
}

static void test_search_table(void **unused)
{
    (void)unused;
    mutate_section(".eh_frame_hdr");
}

static void test_symbols(void **unused)
{
    (void)unused;
    mutate_section(".symtab");
    mutate_section(".dynsym");
}

static void test_headers(void **unused)
{
    Elf64_Ehdr header;
    (void)unused;
    memcpy(&header, original, sizeof(header));
    for (unsigned turn = 0; turn < MUTATIONS / 5; turn++)
        mutate_and_use(0, sizeof(header) + header.e_phnum * sizeof(Elf64_Phdr), 4);
    for (unsigned turn = 0; turn < MUTATIONS / 5; turn++)
        mutate_and_use(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), 8);
}

static void test_truncated(void **unused)
{
    (void)unused;
    for (unsigned turn = 0; turn < MUTATIONS / 10; turn++) {
        size_t size = turn < 128 ? turn : chance() % original_size;
        struct unwinder *unwinder = unwinder_of(copy_of_original(size), size);
        use(unwinder, 4);
        unwinder_close(unwinder);
    }
}

static void put_u32(uint8_t **at, uint32_t value)
{
    memcpy(*at, &value, sizeof(value));
    *at += sizeof(value);
}

/* A CIE whose own instructions take long, and functions that make them run again and again by
 * pointing at two of them in turn: work stays linear in the size. */
static void test_instructions_bomb(void **unused)
{
    enum { NOPS = 1 << 16, FUNCTIONS = 20000, COMMON = 4 + 4 + 9 + NOPS };
    const size_t size = 2 * (size_t)COMMON + FUNCTIONS * 21 + 4;
    (void)unused;
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    uint8_t *at = bytes;
    for (int i = 0; i < 2; i++) {
        put_u32(&at, COMMON - 4);
        put_u32(&at, 0);
        memcpy(at, "\x01zR\0\x01\x78\x10\x01\x03", 9); /* data align -8, udata4 */
        at += COMMON - 8;
    }
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        uint8_t *begin = at;
        put_u32(&at, 17);
        put_u32(&at, (uint32_t)(at - bytes - (i % 2) * COMMON));
        put_u32(&at, 0x1000 + i * 16);
        put_u32(&at, 16);
        at = begin + 21;
    }
    struct eh_frame frame = {.bytes = bytes, .size = size, .high = 0x10000000};
    struct unwind_rows rows;
    assert_int_equal(unwind_rows_make(&frame, &rows), 0);
    assert_true(rows.skipped + rows.count >= FUNCTIONS);
    unwind_rows_free(&rows);
    free(bytes);
}

/* Lengths that lie: the section ends before what they announce. */
static void test_lengths(void **unused)
{
    (void)unused;
    for (unsigned turn = 0; turn < 20000; turn++) {
        uint8_t bytes[64];
        struct unwind_rows rows;
        for (size_t i = 0; i < sizeof(bytes); i += 8) {
            uint64_t value = evil();
            memcpy(bytes + i, &value, 8);
        }
        struct eh_frame frame = {.bytes = bytes, .size = chance() % sizeof(bytes), .high = evil()};
        if (frame.high > UINT32_MAX)
            frame.high = UINT32_MAX;
        assert_int_equal(unwind_rows_make(&frame, &rows), 0);
        unwind_rows_free(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_original),     cmocka_unit_test(test_eh_frame),
        cmocka_unit_test(test_search_table), cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_headers),      cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_lengths),      cmocka_unit_test(test_instructions_bomb),
    };
    return cmocka_run_group_tests(tests, read_original, free_original);
}
