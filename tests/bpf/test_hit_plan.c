/* SPDX-License-Identifier: MIT */
/* What is read at a hit that serves several rows: each value once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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
        assert_int_equal(hit.reads[sites[i].values[UPROBE_VALUE_KEY]].reg, UPROBE_RDI);
    assert_int_equal(sites[0].values[UPROBE_VALUE_ARG0], sites[2].values[UPROBE_VALUE_WHEN]);
    assert_int_equal(sites[1].values[UPROBE_VALUE_ARG0], sites[2].values[UPROBE_VALUE_ARG1]);
    assert_int_equal(hit.reads[sites[1].values[UPROBE_VALUE_ARG0]].offsets[0], 0x20);
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
    assert_int_equal(hit.reads[text].reg, UPROBE_TEXT_POINT);
    assert_int_equal(hit.reads[text - 1].reg, UPROBE_RDX);
    assert_int_equal(hit.reads[text - 2].reg, UPROBE_RSI);
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
        cmocka_unit_test(test_values_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
