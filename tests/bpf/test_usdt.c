/* SPDX-License-Identifier: MIT */
/* USDT notes and symbols of ELF files: a good one, and thousands that are damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "function_bounds.h"
#include "target_ceph.h"
#include "usdt.h"

static char sample_file[4096];
static unsigned char *sample; /* the bytes of usdt_sample */
static size_t sample_size;

static char damaged_file[] = "/tmp/optrail-usdt-XXXXXX";
static int damaged_fd;

static int read_sample(void **state)
{
    (void)state;
    FILE *in = fopen(sample_file, "re");
    if (!in || fseek(in, 0, SEEK_END))
        return -1;
    sample_size = (size_t)ftell(in);
    rewind(in);
    sample = malloc(sample_size);
    damaged_fd = mkstemp(damaged_file);
    int failed = !sample || damaged_fd < 0 || fread(sample, 1, sample_size, in) != sample_size;
    fclose(in);
    return failed ? -1 : 0;
}

static int remove_sample(void **state)
{
    (void)state;
    free(sample);
    close(damaged_fd);
    return unlink(damaged_file);
}

static void test_good_notes(void **state)
{
    (void)state;
    struct elf_file *file;
    struct usdt_probes probes;
    assert_int_equal(elf_file_open(sample_file, &file), 0);
    assert_int_equal(usdt_read(file, "optrail", &probes), 0);
    assert_int_equal(probes.count, 4);
    assert_string_equal(probes.probes[0].name, "op_start");
    assert_string_equal(probes.probes[0].arguments, "8@%rdi 8@%rsi 8@%rdx");
    unsigned char site[6];
    assert_int_equal(elf_file_read(file, probes.probes[0].offset, site, sizeof(site)), 6);
    assert_memory_equal(site, "\x90\x0f\x1f\x44\x00\x00", 6);
    assert_true(probes.probes[0].semaphore_offset > 0);
    unsigned char semaphore[2] = {1, 1};
    assert_int_equal(elf_file_read(file, probes.probes[0].semaphore_offset, semaphore, 2), 2);
    assert_memory_equal(semaphore, "\0\0", 2);
    assert_string_equal(probes.probes[1].name, "no_such_point");
    assert_int_equal(probes.probes[1].semaphore_offset, 0);
    assert_null(probes.probes[0].obstacle);
    assert_null(probes.probes[1].obstacle);
    assert_non_null(strstr(probes.probes[2].obstacle, "odd address"));
    assert_non_null(strstr(probes.probes[3].obstacle, "no writable data"));
    assert_int_equal(probes.damaged, 5);
    usdt_free(&probes);

    assert_int_equal(usdt_read(file, "nobody", &probes), 0);
    assert_int_equal(probes.count, 0);
    usdt_free(&probes);
    elf_file_close(file);
}

static void test_functions(void **state)
{
    (void)state;
    struct elf_file *file;
    const char *const names[] = {"main", "no_such_function", "sample_semaphore"};
    struct elf_function functions[3];
    assert_int_equal(elf_file_open(sample_file, &file), 0);
    assert_int_equal(elf_file_functions(file, names, 3, functions), 0);
    assert_true(functions[0].address > 0 && functions[0].offset > 0 && functions[0].size > 0);
    assert_int_equal(functions[1].address, 0);
    assert_int_equal(functions[2].address, 0); /* no function */
    elf_file_close(file);
}

/* A function begins where its symbol says, and nowhere else within it. */
static void test_bounds(void **state)
{
    (void)state;
    struct elf_file *file;
    struct function_bounds *bounds;
    struct elf_function function;
    uint64_t start = 0, end = 0;
    const char *const names[] = {"main"};
    assert_int_equal(elf_file_open(sample_file, &file), 0);
    assert_int_equal(elf_file_functions(file, names, 1, &function), 0);
    assert_int_equal(function_bounds_read(file, &bounds), 0);
    assert_non_null(bounds);
    for (uint64_t i = 0; i < function.size; i++) {
        assert_true(function_bounds_find(bounds, function.address + i, &start, &end));
        assert_int_equal(start, function.address);
        assert_int_equal(end, function.address + function.size);
    }
    if (function_bounds_find(bounds, end, &start, &end)) /* the next one may follow at once */
        assert_int_equal(start, function.address + function.size);
    assert_false(function_bounds_find(bounds, 0, &start, &end));
    assert_false(function_bounds_find(bounds, UINT64_MAX, &start, &end));
    function_bounds_free(bounds);
    elf_file_close(file);
}

static void test_what_is_no_program(void **state)
{
    (void)state;
    struct elf_file *file;
    assert_int_equal(elf_file_open("/nonexistent", &file), -ENOENT);
    assert_int_equal(elf_file_open("/", &file), -EINVAL);
    assert_int_equal(elf_file_open("/etc/passwd", &file), -EINVAL);
    assert_non_null(strstr(err_message(), "/etc/passwd: not an ELF file"));
    assert_null(file);
}

/* Reads the damaged file as a whole; what comes out does not matter, as long as we come out. */
static void read_damaged(void)
{
    struct elf_file *file;
    if (elf_file_open(damaged_file, &file))
        return;
    struct usdt_probes probes;
    if (usdt_read(file, "optrail", &probes) == 0)
        usdt_free(&probes);
    struct function_bounds *bounds;
    uint64_t start, end;
    if (function_bounds_read(file, &bounds) == 0 && bounds)
        for (uint64_t address = 0; address < 1 << 14; address += 512)
            if (function_bounds_find(bounds, address, &start, &end))
                assert_true(start <= address && address < end);
    function_bounds_free(bounds);
    const char *const names[] = {"main", "_start"};
    struct elf_function functions[2];
    if (elf_file_functions(file, names, 2, functions) == 0)
        for (size_t i = 0; i < 2; i++)
            if (functions[i].address) {
                unsigned char code[256];
                assert_true(elf_file_read(file, functions[i].offset, code, sizeof(code)) >= 0);
            }
    elf_file_close(file);
}

static void write_damaged(const unsigned char *bytes, size_t size)
{
    assert_int_equal(ftruncate(damaged_fd, 0), 0);
    assert_int_equal(pwrite(damaged_fd, bytes, size, 0), size);
}

static void test_files_cut_off(void **state)
{
    (void)state;
    for (size_t size = 0; size < sample_size; size += 1 + size / 16) {
        write_damaged(sample, size);
        read_damaged();
    }
}

static void test_random_damage(void **state)
{
    (void)state;
    unsigned char *copy = malloc(sample_size);
    assert_non_null(copy);
    srand(7);
    for (int round = 0; round < 3000; round++) {
        memcpy(copy, sample, sample_size);
        for (int i = 0; i < 1 + round % 8; i++) {
            /* the headers at both ends more often than what lies between */
            size_t place = (size_t)rand() % sample_size;
            if (rand() % 3 == 0)
                place = (size_t)rand() % 1024;
            else if (rand() % 3 == 0)
                place = sample_size - 1 - (size_t)rand() % 4096;
            copy[place] = (unsigned char)(rand() % 4 ? rand() : 0xff);
        }
        write_damaged(copy, sample_size);
        read_damaged();
    }
    free(copy);
}

/* Headers that promise what the file has, but as a hole: 8 GiB that take no room on the disk. */
#define HOLE (8ull << 30)

static long peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void write_with_hole(const unsigned char *bytes)
{
    write_damaged(bytes, sample_size);
    assert_int_equal(ftruncate(damaged_fd, (off_t)(sample_size + HOLE)), 0);
}

static void test_sparse_files(void **state)
{
    (void)state;
    unsigned char *copy = malloc(sample_size);
    assert_non_null(copy);
    memcpy(copy, sample, sample_size);
    Elf64_Ehdr *head = (Elf64_Ehdr *)copy;
    Elf64_Shdr *sections = (Elf64_Shdr *)(copy + head->e_shoff);
    Elf64_Phdr *segments = (Elf64_Phdr *)(copy + head->e_phoff);
    char version[32];
    struct usdt_probes probes;
    struct elf_file *file;
    long before = peak_kib();

    /* everything but the names of the sections, one after the other and then together */
    for (int i = 1; i < head->e_shnum; i++) {
        if (i == head->e_shstrndx)
            continue;
        sections[i].sh_offset = sample_size;
        sections[i].sh_size = HOLE;
    }
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_NOTE) {
            segments[i].p_offset = sample_size;
            segments[i].p_filesz = HOLE;
        }
    write_with_hole(copy);
    read_damaged();
    assert_int_equal(elf_file_open(damaged_file, &file), 0);
    assert_int_equal(usdt_read(file, "optrail", &probes), 0);
    assert_int_equal(probes.count, 0);
    usdt_free(&probes);
    char build_id[ELF_BUILD_ID_SIZE];
    elf_file_build_id(file, build_id);
    assert_string_equal(build_id, "");
    target_ceph_version(file, version, sizeof(version));
    assert_string_equal(version, "");
    elf_file_close(file);

    /* many tables, each as large as one may be */
    for (int i = 1; i < head->e_shnum; i++)
        if (i != head->e_shstrndx) {
            sections[i].sh_type = SHT_SYMTAB;
            sections[i].sh_entsize = sizeof(Elf64_Sym);
            sections[i].sh_size = 64 << 20;
        }
    write_with_hole(copy);
    read_damaged();
    assert_true(peak_kib() - before < 512 << 10); /* without a limit: 64 MiB for each section */

    /* more sections than the head can count */
    memcpy(copy, sample, sample_size);
    head->e_shnum = 0;
    sections[0].sh_size = HOLE / sizeof(Elf64_Shdr);
    write_with_hole(copy);
    assert_int_equal(elf_file_open(damaged_file, &file), -EINVAL);
    assert_non_null(strstr(err_message(), "does not count its headers"));
    free(copy);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    snprintf(sample_file, sizeof(sample_file), "%s", argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_notes),    cmocka_unit_test(test_functions),
        cmocka_unit_test(test_bounds),        cmocka_unit_test(test_what_is_no_program),
        cmocka_unit_test(test_files_cut_off), cmocka_unit_test(test_random_damage),
        cmocka_unit_test(test_sparse_files),
    };
    return cmocka_run_group_tests(tests, read_sample, remove_sample);
}
