/* SPDX-License-Identifier: MIT */
/* Probe maps: what is understood, and what is refused with file, line and advice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf_file.h"
#include "err.h"
#include "event.h"
#include "probe_map.h"

static char directory[] = "/tmp/optrail-probe-map-XXXXXX";
static char file[sizeof(directory) + 32];

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof(file), "%s/map.yaml", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(directory);
}

static void write_file(const char *name, const char *text)
{
    FILE *out = fopen(name, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

#define HEAD "daemon: d\nversion: 1.2.3\nprobes:\n"

static void test_a_map_is_read(void **state)
{
    (void)state;
    write_file(file, HEAD "  - point: osd.enqueue\n"
                          "    function: OSD::enqueue_op(spg_t)\n"
                          "    symbol: _Z1fv\n"
                          "    required: true\n"
                          "    key: \"*(rsi+8)\"\n"
                          "    arg0: -edx\n"
                          "    positive: true\n"
                          "    through: true\n"
                          "    when: \"ecx != -3\"\n"
                          "  - symbol: _Z1gv\n"
                          "    key: rdi\n"
                          "    length: rsi\n"
                          "    text: rdx\n"
                          "    arg0: rcx\n"
                          "    clock: utime\n"
                          "    texts: {op.started: [started], ignore: [done, reached_pg]}\n");
    struct probe_map *map;
    if (probe_map_read(file, &map))
        fail_msg("%s", err_message());
    assert_string_equal(map->daemon, "d");
    assert_string_equal(map->version, "1.2.3");
    assert_int_equal(map->count, 2);
    const struct probe_row *row = &map->rows[0];
    assert_int_equal(row->point, POINT_osd_enqueue);
    assert_true(row->required);
    assert_int_equal(row->line, 4);
    assert_int_equal(row->site.key.reg, UPROBE_RSI);
    assert_int_equal(row->site.key.loads, 1);
    assert_int_equal(row->site.key.offsets[0], 8);
    assert_int_equal(row->site.arg0.reg, UPROBE_RDX);
    assert_int_equal(row->site.arg0.width, 4);
    assert_true(row->site.arg0.negate);
    assert_true(row->site.positive);
    assert_true(row->site.through);
    assert_int_equal(row->site.compare, UPROBE_UNEQUAL);
    assert_int_equal(row->site.when_value, -3);
    assert_int_equal(row->registers, 1u << UPROBE_RSI | 1u << UPROBE_RDX | 1u << UPROBE_RCX);
    row = &map->rows[1];
    assert_int_equal(row->site.kind, UPROBE_TEXT);
    assert_false(row->required);
    assert_true(row->utime_stamp);
    assert_int_equal(row->text_count, 3);
    assert_string_equal(row->texts[1].text, "done");
    assert_int_equal(row->texts[1].point, UPROBE_IGNORED);
    probe_map_free(map);
}

static void test_expressions(void **state)
{
    (void)state;
    struct uprobe_fetch fetch;
    unsigned registers = 0;
    assert_int_equal(probe_expression("*(*(rsp+16)+24)", &fetch, &registers), 0);
    assert_int_equal(fetch.reg, UPROBE_RSP);
    assert_int_equal(fetch.loads, 2);
    assert_int_equal(fetch.offsets[0], 16);
    assert_int_equal(fetch.offsets[1], 24);
    assert_int_equal(registers, 1u << UPROBE_RSP);
    assert_int_equal(probe_expression(" ** rdx ", &fetch, &registers), 0);
    assert_int_equal(fetch.loads, 2);
    assert_int_equal(probe_expression("5", &fetch, &registers), 0);
    assert_int_equal(fetch.reg, UPROBE_NONE);
    assert_int_equal(fetch.offsets[0], 5);
    assert_int_equal(probe_expression("rsi+16", &fetch, &registers), 0);
    assert_int_equal(fetch.loads, 0);
    assert_int_equal(fetch.offsets[0], 16);
    assert_int_equal(probe_expression("*(rdi+8)+16", &fetch, &registers), 0);
    assert_int_equal(fetch.loads, 1);
    assert_int_equal(fetch.offsets[1], 16);
    registers = 0;
    assert_int_equal(probe_expression("remembered", &fetch, &registers), 0);
    assert_int_equal(fetch.reg, UPROBE_REMEMBERED);
    assert_int_equal(registers, 0);
    assert_int_equal(probe_expression("class(*rsi)", &fetch, &registers), 0);
    assert_int_equal(fetch.width, UPROBE_CLASS);
    assert_int_equal(fetch.loads, 1);
    assert_int_equal(probe_expression("-int(*(rsi+0x190))", &fetch, &registers), 0);
    assert_int_equal(fetch.width, 4);
    assert_int_equal(fetch.loads, 1);
    assert_int_equal(fetch.negate, 1);
    assert_int_equal(probe_expression("*(*rsi+message.tid)", &fetch, &registers), 0);
    assert_int_equal(fetch.offsets[1], PROBE_FIELD + probe_field_by_name("message.tid", 11));
    const char *const wrong[] = {"class(rsi",
                                 "class(esi)",
                                 "int(rsi)",
                                 "int(*rsi",
                                 "int(*rsi)+4",
                                 "*(rsi+no.such)",
                                 "rsi+0",
                                 "",
                                 "rax",
                                 "*",
                                 "*(rsi",
                                 "rsi+",
                                 "rsp",
                                 "*esi",
                                 "****rdi",
                                 "rdi rsi",
                                 "*(rsi+)",
                                 "*(rsi-8)",
                                 "*(rsi+9999999999)",
                                 "-5",
                                 "99999999999",
                                 "*5"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (probe_expression(wrong[i], &fetch, &registers) != -EINVAL)
            fail_msg("`%s` was taken for an expression", wrong[i]);
}

/* However deep an expression is nested, it is refused at the first load that is too much. */
static void test_endless_expressions(void **state)
{
    (void)state;
    const char *const pieces[] = {"*", "*(", "* ", "class("};
    struct uprobe_fetch fetch;
    unsigned registers = 0;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t length = strlen(pieces[i]), times = 5000000;
        char *text = malloc(length * times + sizeof("rdi"));
        assert_non_null(text);
        for (size_t n = 0; n < times; n++)
            memcpy(text + n * length, pieces[i], length);
        memcpy(text + length * times, "rdi", sizeof("rdi"));
        assert_int_equal(probe_expression(text, &fetch, &registers), -EINVAL);
        free(text);
    }
}

/* Levels, alternatives, classes, and fields that are known for one build only. */
static void test_what_a_build_changes(void **state)
{
    (void)state;
    write_file(file,
               "daemon: d\nversion: 1\nverified: false\n"
               "classes: {42: [_ZTV1A, _ZTV1B], 43: [_ZTV1C]}\n"
               "layouts:\n  - build_id: abcd\n    fields: {message.tid: 0x22}\n"
               "probes:\n"
               "  - {point: op.start, symbol: [f, \"g*\"], key: \"*(rdi+message.tid)\",\n"
               "     detail: [basic]}\n"
               "  - {point: reply.queued, symbol: f, arg0: rsi, kind: message, detail: deep}\n"
               "  - {symbol: f, remember: true}\n"
               "  - {point: op.end, symbol: h, key: rdi, without: message.tid}\n"
               "  - {point: op.end, symbol: h, key: rdi, without: message.source}\n");
    struct probe_map *map;
    if (probe_map_read(file, &map))
        fail_msg("%s", err_message());
    assert_false(map->verified);
    assert_int_equal(map->class_count, 3);
    assert_int_equal(map->classes[1].number, 42);
    assert_string_equal(map->classes[2].symbol, "_ZTV1C");
    const struct probe_row *row = &map->rows[0];
    assert_int_equal(row->symbol_count, 2);
    assert_string_equal(row->symbols[1], "g*");
    assert_int_equal(row->details, 1u << DETAIL_BASIC);
    assert_int_equal(map->rows[1].details, 1u << DETAIL_DEEP);
    assert_int_equal(map->rows[1].site.arg1.offsets[0], KEY_MESSAGE);
    assert_int_equal(map->rows[2].details, 1u << DETAIL_STANDARD | 1u << DETAIL_DEEP);
    assert_int_equal(map->rows[2].site.kind, UPROBE_REMEMBER);
    struct uprobe_site site;
    assert_int_equal(probe_row_site(row, probe_map_layout(map, "abcd"), &site), 0);
    assert_int_equal(site.key.offsets[0], 0x22);
    assert_null(probe_map_layout(map, "beef"));
    assert_int_equal(probe_row_site(row, NULL, &site), -ENOENT);
    assert_non_null(strstr(err_message(), "message.tid"));
    assert_true(probe_row_is_needless(&map->rows[3], probe_map_layout(map, "abcd")));
    assert_false(probe_row_is_needless(&map->rows[3], NULL));
    assert_false(probe_row_is_needless(&map->rows[4], probe_map_layout(map, "abcd")));
    assert_false(probe_row_is_needless(row, probe_map_layout(map, "abcd")));
    probe_map_free(map);
}

static const struct {
    const char *text;
    const char *where;
    const char *message;
} refused[] = {
    {HEAD "  - {point: no.such, symbol: f, key: rdi}\n", ":4: ", "unknown point 'no.such'"},
    {HEAD "  - {point: op.start, key: rdi}\n", ":4: ", "wants a `symbol`"},
    {HEAD "  - {point: op.start, symbol: f}\n", ":4: ", "wants a `key`"},
    {HEAD "  - point: op.start\n    symbol: f\n    key: rax\n", ":6: ", "is no expression"},
    {HEAD "  - point: op.start\n    symbol: f\n    key: rdi\n    when: rsi\n",
     ":7: ", "is no condition"},
    {HEAD "  - point: op.start\n    symbol: f\n    key: rdi\n    colour: red\n",
     ":7: ", "unknown key 'colour'"},
    {HEAD "  - {point: op.start, symbol: f, key: rdi, detail: fine}\n",
     ":4: ", "basic, standard and deep"},
    {HEAD "  - {point: filestore.sequence, symbol: f, key: rdi, arg0: rsi}\n",
     ":4: ", "wants the `kind`"},
    {HEAD "  - {point: filestore.sequence, symbol: f, key: rdi, arg0: rsi, kind: colour}\n",
     ":4: ", "unknown kind of key 'colour'"},
    {HEAD "  - {point: op.start, symbol: f, remember: true}\n", ":4: ", "has no point"},
    {"daemon: d\nclasses: {x: [f]}\n", ":2: ", "is no number"},
    {"daemon: d\nlayouts:\n  - fields: {message.tid: 1}\n", ":3: ", "wants a `build_id`"},
    {"daemon: d\nlayouts:\n  - {build_id: a, fields: {no.such: 1}}\n", ":3: ", "unknown field"},
    {HEAD "  - {symbol: f, key: rdi}\n", ":4: ", "either a `point` or `texts`"},
    {HEAD "  - {symbol: f, key: rdi, texts: {op.started: [a]}}\n", ":4: ", "wants `text` and"},
    {HEAD "  - {symbol: f, key: rdi, text: rsi, length: rdx,\n"
          "     texts: {op.started: [waiting for a lock], op.end: [waiting for a lot]}}\n",
     ":5: ", "begin with the same 16 characters"},
    {HEAD "  - {symbol: f, symbol: g, key: rdi, point: op.start}\n", ":4: ", "is said twice"},
    {HEAD "  - {symbol: f, key: rdi, point: op.start, required: perhaps}\n",
     ":4: ", "true or false"},
    {HEAD "  - nothing\n", ":4: ", "keys and values"},
    {"daemon: d\nversion: 1\nprobes: []\n", "", "wants daemon, version and probes"},
    {"daemon: d\nsize: 1\n", ":2: ", "unknown key 'size'"},
    {"daemon: d\nversion: [1]\n", ":2: ", "a word or a sentence"},
    {"daemon: d\n  version: [1\n", ":2: ", ""},
    {"- a\n", ":1: ", "keys and values"},
    {"", "", "no probe map"},
};

static void test_what_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        write_file(file, refused[i].text);
        struct probe_map *map;
        char start[sizeof(file) + 16];
        snprintf(start, sizeof(start), "%s%s", file, refused[i].where);
        if (probe_map_read(file, &map) == 0)
            fail_msg("was accepted:\n%s", refused[i].text);
        assert_null(map);
        if (strncmp(err_message(), start, strlen(start)) != 0 ||
            !strstr(err_message(), refused[i].message))
            fail_msg("`%s` instead of `%s...%s` for\n%s", err_message(), start, refused[i].message,
                     refused[i].text);
    }
}

static void test_no_file(void **state)
{
    (void)state;
    struct probe_map *map;
    assert_int_equal(probe_map_read("/nonexistent/map.yaml", &map), -ENOENT);
    assert_non_null(strstr(err_message(), "/nonexistent/map.yaml"));
}

/* The map of the very version; else the newest of its release; else none, and what there is. */
static void test_a_map_is_found_by_version(void **state)
{
    (void)state;
    static const char *const versions[] = {"16.2.9", "16.2.15", "17.2.6"};
    char folder[64], name[128];
    snprintf(folder, sizeof(folder), "%s/d", directory);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "daemon: d\nversion: %s\nprobes: [{point: op.start, symbol: f, key: rdi}]\n",
                 versions[i]);
        snprintf(name, sizeof(name), "%s/%s.yaml", folder, versions[i]);
        write_file(name, text);
    }
    static const struct {
        const char *version, *map;
        bool exact;
    } wanted[] = {{"16.2.9", "16.2.9", true},    {"16.2.15", "16.2.15", true},
                  {"16.2.14", "16.2.15", false}, {"17.2.7", "17.2.6", false},
                  {"18.2.0", NULL, false},       {"16.20.1", NULL, false},
                  {"../d/16.2.9", NULL, false}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct probe_map *map;
        bool exact;
        int result = probe_map_find(directory, "d", wanted[i].version, &map, &exact);
        if (!wanted[i].map) {
            assert_int_equal(result, -ENOENT);
            assert_non_null(strstr(err_message(), "16.2.9, 16.2.15, 17.2.6"));
            continue;
        }
        assert_int_equal(result, 0);
        assert_string_equal(map->version, wanted[i].map);
        assert_int_equal(exact, wanted[i].exact);
        probe_map_free(map);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s/%s.yaml", folder, versions[i]);
        unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* By build-id, whatever the version; by version; else by the functions that this program has. */
static void test_a_map_is_chosen_for_a_program(void **state)
{
    (void)state;
    char folder[64], names[3][128], text[512], build_id[ELF_BUILD_ID_SIZE];
    struct elf_file *elf;
    struct probe_map *map;
    bool exact;
    snprintf(folder, sizeof(folder), "%s/d", directory);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(elf_file_open("/proc/self/exe", &elf), 0);
    elf_file_build_id(elf, build_id);
    elf_file_close(elf);
    const char *const symbols[] = {"main", "ma*in", "no_such_function"};
    for (int i = 0; i < 3; i++) {
        snprintf(names[i], sizeof(names[i]), "%s/%d.0.yaml", folder, i + 1);
        snprintf(text, sizeof(text),
                 "daemon: d\nversion: %d.0\nprobes: [{point: op.start, symbol: [x, \"%s\"], "
                 "key: rdi, required: true}]\n",
                 i + 1, symbols[i]);
        write_file(names[i], text);
    }
    assert_int_equal(probe_map_choose(directory, "/proc/self/exe", "d", "3.0", &map, &exact), 0);
    assert_string_equal(map->version, "3.0");
    assert_true(exact);
    probe_map_free(map);
    assert_int_equal(probe_map_choose(directory, "/proc/self/exe", "d", "", &map, &exact), 0);
    assert_string_equal(map->version, "2.0"); /* the newest whose functions are there */
    assert_false(exact);
    probe_map_free(map);
    if (build_id[0]) {
        snprintf(text, sizeof(text),
                 "daemon: d\nversion: 1.0\nlayouts: [{build_id: %s, fields: {message.tid: 8}}]\n"
                 "probes: [{point: op.start, symbol: main, key: rdi}]\n",
                 build_id);
        write_file(names[0], text);
        assert_int_equal(probe_map_choose(directory, "/proc/self/exe", "d", "3.0", &map, &exact),
                         0);
        assert_string_equal(map->version, "1.0");
        assert_true(exact);
        probe_map_free(map);
    }
    for (int i = 0; i < 3; i++)
        unlink(names[i]);
    assert_int_equal(rmdir(folder), 0);
}

/* Every map that we ship can be read, and says itself what its place says. */
static void test_the_maps_that_we_ship(void **state)
{
    (void)state;
    struct probe_map *map;
    bool exact;
    if (probe_map_find(probe_map_directory(), "ceph-osd", "16.2.15", &map, &exact))
        fail_msg("%s", err_message());
    assert_true(exact);
    assert_string_equal(map->daemon, "ceph-osd");
    assert_string_equal(map->version, "16.2.15");
    probe_map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_map_is_read),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_endless_expressions),
        cmocka_unit_test(test_what_a_build_changes),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_a_map_is_found_by_version),
        cmocka_unit_test(test_a_map_is_chosen_for_a_program),
        cmocka_unit_test(test_the_maps_that_we_ship),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
