/* SPDX-License-Identifier: MIT */
/* Names: shortened for people, and bounded whatever a file calls its functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "demangle.h"
#include "elf_image.h"
#include "symbol_table.h"
#include "symbols.h"

static const struct {
    const char *demangled, *shortened;
} names[] = {
    {"main", "main"},
    {"__lll_lock_wait", "__lll_lock_wait"},
    {"FileStore::lfn_open(coll_t const&, ghobject_t const&, bool, std::shared_ptr<FDCache::FD>*)",
     "FileStore::lfn_open"},
    {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<>::push_back"},
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() "
     "const",
     "std::basic_string<>::size"},
    {"void std::__invoke_impl<void, void (*)(int), int>(std::__invoke_other, void (*&&)(int), "
     "int&&)",
     "std::__invoke_impl<>"},
    {"OSD::ShardedOpWQ::_process(unsigned int, ceph::heartbeat_handle_d*)",
     "OSD::ShardedOpWQ::_process"},
    {"(anonymous namespace)::RunOnDelete::~RunOnDelete()", "(anon)::RunOnDelete::~RunOnDelete"},
    {"Foo::bar(int) const::{lambda(int, long)#1}::operator()(int, long) const",
     "Foo::bar::{lambda#1}::operator()"},
    {"operator<<(std::ostream&, pg_t const&)", "operator<<"},
    {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<<>"},
    {"ceph::buffer::v15_2_0::list::operator->() const", "ceph::buffer::v15_2_0::list::operator->"},
    {"operator new(unsigned long)", "operator new"},
    {"Foo::operator bool() const", "Foo::operator bool"},
    {"non-virtual thunk to OSD::ms_dispatch(Message*)", "non-virtual thunk to OSD::ms_dispatch"},
    {"foo[abi:cxx11](int)", "foo"},
    {"foo(int) [clone .cold]", "foo"},
    {"boost::optional<std::map<int, std::pair<a, b> > >::get()", "boost::optional<>::get"},
    {"", ""},
    {"((((", "(((("},
    {"a<b<c", "a<>"},
};

static void test_shortened(void **state)
{
    char out[512];
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(symbols_shorten(names[i].demangled, out, sizeof(out)),
                            names[i].shortened);
}

static void test_shortened_into_little_room(void **state)
{
    char out[8];
    (void)state;
    for (size_t size = 1; size <= sizeof(out); size++) {
        memset(out, 'x', sizeof(out));
        symbols_shorten(names[2].demangled, out, size);
        assert_int_equal(strlen(out), size - 1);
        assert_memory_equal(out, "FileStore", size - 1);
    }
}

static void assert_demangled(const char *name, const char *wanted)
{
    char *got = demangle(name);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_demangled(void **state)
{
    (void)state;
    assert_demangled("_ZNSt6vectorIiSaIiEE9push_backEOi",
                     "std::vector<int, std::allocator<int> >::push_back(int&&)");
    assert_demangled("pthread_mutex_lock", "pthread_mutex_lock");
    assert_demangled("_Znonsense", "_Znonsense");
    assert_demangled("a\033[31mb\nc", "a_[31mb_c");
    assert_demangled("", "");
}

/* The number of a substitution, as a mangled name writes it: S_, S0_, ... S9_, SA_, ... SZ_, S10_
 */
static void put_substitution(char *name, size_t size, unsigned number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[8] = "S_";
    if (number > 36)
        snprintf(text, sizeof(text), "S%c%c_", digits[(number - 1) / 36],
                 digits[(number - 1) % 36]);
    else if (number > 0)
        snprintf(text, sizeof(text), "S%c_", digits[number - 1]);
    strncat(name, text, size - strlen(name) - 1);
}

/* Each argument is a pointer to a function of two of the argument before: the last one of 40 would
 * take 2^40 names. */
static void test_demangling_bomb(void **state)
{
    char name[1024] = "_Z1fPFvvE";
    (void)state;
    for (unsigned level = 1; level <= 40; level++) {
        strncat(name, "PFv", sizeof(name) - strlen(name) - 1);
        put_substitution(name, sizeof(name), 2 * level - 1);
        put_substitution(name, sizeof(name), 2 * level - 1);
        strncat(name, "E", sizeof(name) - strlen(name) - 1);
        char *got = demangle(name);
        assert_non_null(got);
        if (level == 3)
            assert_memory_equal(got, "f(void (*)(), ", strlen("f(void (*)(), "));
        if (level == 40)
            assert_string_equal(got, name);
        free(got);
    }
}

static void test_long_names(void **state)
{
    const size_t size = 1 << 20;
    (void)state;
    char *name = malloc(size + 1);
    assert_non_null(name);
    memset(name, 'P', size); /* pointers to pointers to ... */
    memcpy(name, "_Z1f", 4);
    name[size] = '\0';
    char *got = demangle(name);
    assert_non_null(got);
    assert_true(strlen(got) <= DEMANGLED_MAX);
    free(got);
    name[MANGLED_MAX - 1] = '\0';
    got = demangle(name);
    assert_non_null(got);
    free(got);
    free(name);
}

/* Aliases, sizes, and what lies between functions. */
static void test_symbol_table(void **state)
{
    static char strings[] = "\0__write\0write\0local\0sizeless\0inner";
    struct symbol symbols[] = {
        {.address = 0x1000, .size = 0x40, .name = 1, .rank = 8},   /* __write */
        {.address = 0x1000, .size = 0x40, .name = 9, .rank = 1},   /* write */
        {.address = 0x1000, .size = 0x80, .name = 15, .rank = 16}, /* local */
        {.address = 0x1010, .size = 0x10, .name = 30, .rank = 0},  /* inner */
        {.address = 0x2000, .size = 0, .name = 21, .rank = 96},    /* sizeless */
    };
    struct symbol_table table = {.symbols = symbols, .count = 5};
    table.strings[0] = (struct symbol_strings){.bytes = strings, .size = sizeof(strings)};
    table.strings_count = 1;
    (void)state;
    symbol_table_sort(&table);
    static const struct {
        uint64_t address, from;
        bool gap;
        const char *name;
    } wanted[] = {
        {0x0fff, 0x0f00, false, NULL},       {0x1000, 0x1000, false, "write"},
        {0x1018, 0x1000, false, "inner"},    {0x1030, 0x1000, false, "write"},
        {0x1050, 0x1000, false, "local"},    {0x1080, 0x1000, false, NULL},
        {0x2100, 0x2000, false, "sizeless"}, {0x2100, 0x20f0, false, NULL},
        {0x2100, 0x1f00, true, "sizeless"},  {0x2100, 0x2080, true, NULL},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const struct symbol *symbol =
            symbol_table_find(&table, wanted[i].address, wanted[i].from, wanted[i].gap);
        if (wanted[i].name) {
            assert_non_null(symbol);
            assert_string_equal(symbol_name(&table, symbol), wanted[i].name);
        } else {
            assert_null(symbol);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortened),  cmocka_unit_test(test_shortened_into_little_room),
        cmocka_unit_test(test_demangled),  cmocka_unit_test(test_demangling_bomb),
        cmocka_unit_test(test_long_names), cmocka_unit_test(test_symbol_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
