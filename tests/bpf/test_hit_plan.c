/* SPDX-License-Identifier: MIT */
/* What is read at a hit that serves several rows: each value once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "hit_plan.h"

#define RDI                                                                                        \
    {                                                                                              \
        .reg = UPROBE_RDI, .width = 8                                                              \
    }
#define AT(off)                                                                                    \
    {                                                                                              \
        .reg = UPROBE_RSI, .loads = 1, .width = 8, .offsets = { off }                              \
    }

/* Three rows want the same key, two the same object: as a number, and for its class. */
static void test_each_value_is_read_once(void **state)
{
    (void)state;
    struct uprobe_site sites[] = {
        {.key = RDI, .arg0 = AT(0), .next = 1},
        {.key = RDI, .arg0 = AT(0x20), .next = 2},
        {.key = RDI, .arg1 = AT(0x20), .compare = UPROBE_EQUAL, .when = AT(0)},
    };
    sites[0].arg0.width = UPROBE_CLASS;
    sites[1].arg0.negate = 1;
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    assert_int_equal(hit.count, 3);
    assert_int_equal(hit.lines, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(hit.reads[sites[i].values[UPROBE_VALUE_KEY]].from, 8 * UPROBE_RDI);
    assert_int_equal(sites[0].values[UPROBE_VALUE_ARG0], sites[2].values[UPROBE_VALUE_WHEN]);
    assert_int_equal(sites[1].values[UPROBE_VALUE_ARG0], sites[2].values[UPROBE_VALUE_ARG1]);
}

/* A time that is remembered is read nowhere, nor is a number of the map; a hit of them alone has a
 * head and no values. */
static void test_what_is_known_is_not_read(void **state)
{
    (void)state;
    struct uprobe_site sites[] = {{.kind = UPROBE_REMEMBER, .key = RDI, .next = 1},
                                  {.arg0 = {.reg = UPROBE_REMEMBERED}, .arg1 = {.offsets = {7}}}};
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    assert_int_equal(hit.count, 0);
    assert_int_equal(hit.lines, 1);
}

/* A text's length and address stand right before it, even if others have read them. */
static void test_a_text_stands_behind_what_it_is_read_by(void **state)
{
    (void)state;
    struct uprobe_site site = {.kind = UPROBE_TEXT,
                               .key = RDI,
                               .length = {.reg = UPROBE_RSI, .width = 8},
                               .text = {.reg = UPROBE_RDX, .width = 8}};
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(&site, 0, &hit), 0);
    unsigned text = site.values[UPROBE_VALUE_TEXT];
    assert_true(text >= 2);
    assert_int_equal(hit.reads[text].from, UPROBE_TEXT_FROM);
    assert_int_equal(hit.reads[text - 1].from, 8 * UPROBE_RDX);
    assert_int_equal(hit.reads[text - 2].from, 8 * UPROBE_RSI);
}

/* What the plan reads, done by hand: memory is an array whose bytes have an address each. */
struct memory {
    uint8_t bytes[512];
    unsigned reads;
};

static uint64_t at_address(const struct memory *memory, uint64_t address)
{
    uint64_t value;
    assert_true(address + sizeof(value) <= sizeof(memory->bytes));
    memcpy(&value, memory->bytes + address, sizeof(value));
    return value;
}

static uint64_t wanted(const struct memory *memory, const uint64_t *registers,
                       const struct uprobe_fetch *fetch)
{
    uint64_t value = registers[fetch->reg];
    for (int i = 0; i < fetch->loads; i++)
        value = at_address(memory, value + (uint64_t)fetch->offsets[i]);
    return fetch->loads < UPROBE_MAX_LOADS ? value + (uint64_t)fetch->offsets[fetch->loads] : value;
}

/* Reads as the program does; returns the values. */
static void carry_out(const struct uprobe_hit *hit, struct memory *memory,
                      const uint64_t *registers, uint64_t *values)
{
    uint8_t scratch[UPROBE_SCRATCH] = {0};
    memory->reads = 0;
    memcpy(scratch, registers, 8 * UPROBE_REGISTER_COUNT);
    for (uint32_t i = 0; i < hit->count; i++) {
        const struct uprobe_read *read = &hit->reads[i];
        uint64_t value;
        assert_true(read->parent <= i);
        memcpy(&value, scratch + read->from, sizeof(value));
        for (int load = 0; load < read->loads; load++) {
            uint64_t address = value + (uint64_t)read->offsets[load];
            memory->reads++;
            if (load + 1 < read->loads) {
                value = at_address(memory, address);
                continue;
            }
            assert_true(read->bytes >= 8 && read->bytes <= UPROBE_SPAN);
            assert_true(read->to >= UPROBE_SPANS && read->to <= UPROBE_LAST);
            assert_true(address + read->bytes <= sizeof(memory->bytes));
            memcpy(scratch + read->to, memory->bytes + address, read->bytes);
            memcpy(&value, scratch + read->pick, sizeof(value));
        }
        if (read->loads < UPROBE_MAX_LOADS)
            value += (uint64_t)read->offsets[read->loads];
        values[i] = value;
    }
}

static void assert_reads_what_is_wanted(struct uprobe_site *sites, size_t count, unsigned reads)
{
    struct memory memory = {{0}, 0};
    uint64_t registers[UPROBE_REGISTER_COUNT] = {0}, values[UPROBE_MAX_VALUES];
    struct uprobe_hit hit;
    /* each word is an address of another one */
    for (size_t i = 0; i < sizeof(memory.bytes); i++)
        memory.bytes[i] = i % 8 == 0 ? (uint8_t)(i * 5 % 256) : 0;
    for (int i = 1; i < UPROBE_REGISTER_COUNT; i++)
        registers[i] = 16 * (uint64_t)i;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    carry_out(&hit, &memory, registers, values);
    assert_int_equal(memory.reads, reads);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *which = sites[i].values;
        assert_true(values[which[UPROBE_VALUE_KEY]] == wanted(&memory, registers, &sites[i].key));
        assert_true(values[which[UPROBE_VALUE_ARG0]] == wanted(&memory, registers, &sites[i].arg0));
        assert_true(values[which[UPROBE_VALUE_ARG1]] == wanted(&memory, registers, &sites[i].arg1));
    }
}

#define CHAIN(...)                                                                                 \
    {                                                                                              \
        .reg = UPROBE_RSI, .loads = sizeof((int32_t[]){__VA_ARGS__}) / 4, .width = 8, .offsets = { \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Six fields of one object: those that lie within 72 bytes come in one read, whatever their order.
 */
static void test_neighbours_come_together(void **state)
{
    (void)state;
    struct uprobe_site sites[] = {{.key = AT(0x20), .arg0 = AT(0x80), .arg1 = AT(8), .next = 1},
                                  {.key = AT(0x38), .arg0 = AT(0xa1), .arg1 = AT(0x40)}};
    assert_reads_what_is_wanted(sites, 2, 2);
}

/* One object is found by way of another one, and a number lies in it: each is read once. */
static void test_what_is_on_the_way_is_read_once(void **state)
{
    (void)state;
    struct uprobe_site sites[] = {{.key = CHAIN(0), .arg0 = CHAIN(0, 0x18), .arg1 = RDI, .next = 1},
                                  {.key = CHAIN(0), .arg0 = CHAIN(0, 0x18, 8), .arg1 = RDI}};
    assert_reads_what_is_wanted(sites, 2, 3);
}

/* Where the scratch is full, what is read is not kept, and right all the same: the next one starts
 * from the register. */
static void test_a_full_scratch_spoils_nothing(void **state)
{
    (void)state;
    struct uprobe_site sites[4] = {
        {.key = AT(0), .arg0 = AT(0x40), .arg1 = AT(0x80), .next = 1},
        {.key = AT(0xc0), .arg0 = AT(0x100), .arg1 = AT(0xf0), .next = 2},
        {.key = AT(0x44), .arg0 = AT(0xd0), .arg1 = AT(0x108), .next = 3},
        {.key = CHAIN(0x100, 8), .arg0 = CHAIN(0x90, 0), .arg1 = CHAIN(0x90, 0x10)}};
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    unsigned reads = 0;
    for (uint32_t i = 0; i < hit.count; i++)
        reads += hit.reads[i].loads;
    assert_reads_what_is_wanted(sites, 4, reads);
}

/* What rests on another read fails with it. */
static void test_who_fails_with_whom(void **state)
{
    (void)state;
    struct uprobe_site site = {.key = AT(0x20), .arg0 = AT(0x28), .arg1 = CHAIN(0x28, 0x10)};
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(&site, 0, &hit), 0);
    unsigned arg0 = site.values[UPROBE_VALUE_ARG0];
    assert_int_equal(hit.reads[arg0].parent, site.values[UPROBE_VALUE_KEY]);
    assert_int_equal(hit.reads[arg0].loads, 0);
    assert_int_equal(hit.reads[site.values[UPROBE_VALUE_ARG1]].parent, arg0);
    assert_int_equal(hit.reads[site.values[UPROBE_VALUE_ARG1]].loads, 1);
}

/* Sixteen values take three lines; one more is refused. */
static void test_values_have_a_limit(void **state)
{
    (void)state;
    struct uprobe_site sites[6] = {0};
    for (int i = 0; i < 6; i++)
        sites[i] = (struct uprobe_site){.key = AT(24 * i),
                                        .arg0 = AT(24 * i + 8),
                                        .arg1 = AT(24 * i + 16),
                                        .next = (uint16_t)(i < 5 ? i + 1 : 0)};
    struct uprobe_hit hit;
    assert_int_equal(hit_plan(sites, 0, &hit), -E2BIG);
    sites[4].next = 0;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    assert_int_equal(hit.count, 15);
    assert_int_equal(hit.lines, 3);
    sites[0].next = 0;
    assert_int_equal(hit_plan(sites, 0, &hit), 0);
    assert_int_equal(hit.lines, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_value_is_read_once),
        cmocka_unit_test(test_what_is_known_is_not_read),
        cmocka_unit_test(test_a_text_stands_behind_what_it_is_read_by),
        cmocka_unit_test(test_neighbours_come_together),
        cmocka_unit_test(test_what_is_on_the_way_is_read_once),
        cmocka_unit_test(test_a_full_scratch_spoils_nothing),
        cmocka_unit_test(test_who_fails_with_whom),
        cmocka_unit_test(test_values_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
