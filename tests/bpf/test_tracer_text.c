/* SPDX-License-Identifier: MIT */
/* Of the texts that probes give the address of, constants are read, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracer_text.h"

#define PAGE 4096

static struct tracer_texts texts;

static const char *find(const void *address)
{
    return tracer_text_find(&texts, getpid(), (uintptr_t)address);
}

/* A file's pages, and behind them none; owned by the caller. */
static char *map_file(const char *bytes, size_t size, int access)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fflush(file), 0);
    char *pages = mmap(NULL, 2 * PAGE, access, MAP_PRIVATE, fileno(file), 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(munmap(pages + PAGE, PAGE), 0);
    fclose(file);
    return pages;
}

static void test_constants_are_read_once(void **state)
{
    (void)state;
    static const char name[] = "pg.lock";
    const char *found = find(name);
    assert_string_equal(found, "pg.lock");
    assert_ptr_not_equal(found, name);
    assert_ptr_equal(find(name), found);
    assert_int_equal(texts.count, 1);
    tracer_texts_free(&texts);
}

static void test_what_may_change_is_not_read(void **state)
{
    (void)state;
    char *heap = strdup("pg.lock"), local[] = "pg.lock";
    assert_null(find(heap));
    assert_null(find(local));
    assert_null(find(NULL));
    assert_null(find((void *)8));
    assert_null(find((void *)UINTPTR_MAX));
    char *pages = map_file("pg.lock", 8, PROT_READ | PROT_WRITE);
    assert_null(find(pages));
    munmap(pages, PAGE);
    free(heap);
    tracer_texts_free(&texts);
}

static void test_pages_end(void **state)
{
    (void)state;
    char bytes[PAGE];
    memset(bytes, 'x', sizeof(bytes));
    bytes[300] = '\0';
    memcpy(bytes + PAGE - 9, "last\0tail", 9);
    char *pages = map_file(bytes, sizeof(bytes), PROT_READ);
    assert_string_equal(find(pages + PAGE - 9), "last");
    assert_null(find(pages + PAGE - 4)); /* no NUL before the end */
    assert_null(find(pages));            /* too long */
    assert_int_equal(strlen(find(pages + 300 - (TRACER_TEXT_BYTES - 1))), TRACER_TEXT_BYTES - 1);
    munmap(pages, PAGE);
    tracer_texts_free(&texts);
}

static void test_there_is_an_end_to_them(void **state)
{
    (void)state;
    char bytes[PAGE] = "";
    char *pages = map_file(bytes, sizeof(bytes), PROT_READ);
    for (size_t i = 0; i < TRACER_TEXTS; i++)
        assert_string_equal(find(pages + i), "");
    assert_null(find(pages + TRACER_TEXTS));
    assert_string_equal(find(pages), "");
    munmap(pages, PAGE);
    tracer_texts_free(&texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_are_read_once),
        cmocka_unit_test(test_what_may_change_is_not_read),
        cmocka_unit_test(test_pages_end),
        cmocka_unit_test(test_there_is_an_end_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
