/* SPDX-License-Identifier: MIT */
/* The flame tree and the fold: sums, bounds, filters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "flame_fold.h"

static uint32_t name(struct flame_tree *tree, const char *text)
{
    uint32_t number;
    assert_int_equal(flame_name(&tree->names, text, strlen(text), &number), 0);
    return number;
}

static const struct flame_node *find(const struct flame_tree *tree, const char *path)
{
    uint32_t at = 0;
    for (const char *end; *path; path = *end ? end + 1 : end) {
        end = strchrnul(path, ';');
        at = tree->nodes[at].first_child;
        for (; at; at = tree->nodes[at].next_sibling) {
            const char *text = flame_name_text(&tree->names, tree->nodes[at].name);
            if (strlen(text) == (size_t)(end - path) && memcmp(text, path, strlen(text)) == 0)
                break;
        }
        if (!at)
            return NULL;
    }
    return &tree->nodes[at];
}

static void add(struct flame_tree *tree, unsigned side, const char *path, uint64_t value)
{
    uint32_t frames[64];
    size_t count = 0;
    for (const char *end; *path; path = *end ? end + 1 : end) {
        end = strchrnul(path, ';');
        assert_int_equal(flame_name(&tree->names, path, (size_t)(end - path), &frames[count++]), 0);
    }
    struct flame_sums sums = {.value = value, .count = 1};
    assert_int_equal(flame_tree_add(tree, side, frames, count, sums), 0);
}

static void test_totals_are_what_is_above(void **state)
{
    struct flame_tree *tree;
    (void)state;
    assert_int_equal(flame_tree_new(FLAME_NS, 1, &tree), 0);
    add(tree, 0, "a;b;c", 10);
    add(tree, 0, "a;b", 5);
    add(tree, 0, "a;d;c", 20);
    add(tree, 0, "a;b;c", 1);
    assert_int_equal(flame_tree_finish(tree), 0);
    assert_int_equal(tree->nodes[0].total[0].value, 36);
    assert_int_equal(tree->nodes[0].total[0].count, 4);
    assert_int_equal(find(tree, "a;b")->total[0].value, 16);
    assert_int_equal(find(tree, "a;b")->self[0].value, 5);
    assert_int_equal(find(tree, "a;b;c")->self[0].count, 2);
    /* the largest child comes first */
    assert_ptr_equal(&tree->nodes[find(tree, "a")->first_child], find(tree, "a;d"));
    assert_int_equal(tree->deepest, 3);
    flame_tree_free(tree);
}

/* Many samples of few stacks, in changing order, through the caches of the tree. */
static void test_memory_follows_stacks_not_samples(void **state)
{
    struct flame_tree *tree;
    uint64_t sums[40] = {0};
    uint32_t frames[100];
    (void)state;
    assert_int_equal(flame_tree_new(FLAME_SAMPLES, 1, &tree), 0);
    for (uint32_t i = 0; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof(text), "f%u", i);
        frames[i] = name(tree, text);
    }
    for (unsigned i = 0; i < 200000; i++) {
        unsigned which = i * 7919u % 40;
        uint32_t stack[100];
        for (unsigned at = 0; at < 60 + which; at++)
            stack[at] = frames[at < 50 ? at : (at + which) % 100];
        struct flame_sums one = {.value = i, .count = 1};
        sums[which] += i;
        assert_int_equal(flame_tree_add(tree, 0, stack, 60 + which, one), 0);
    }
    assert_true(tree->node_count <= 50 + 40 * 60);
    assert_int_equal(flame_tree_finish(tree), 0);
    uint64_t total = 0, found = 0;
    for (unsigned i = 0; i < 40; i++)
        total += sums[i];
    for (size_t i = 0; i < tree->node_count; i++)
        for (unsigned which = 0; which < 40; which++)
            found += tree->nodes[i].self[0].value == sums[which];
    assert_int_equal(tree->nodes[0].total[0].value, total);
    assert_true(found >= 40);
    flame_tree_free(tree);
}

static void test_what_does_not_fit_is_refused_or_counted(void **state)
{
    struct flame_tree *tree;
    uint32_t frames[FLAME_MAX_FRAMES + 10];
    (void)state;
    assert_int_equal(flame_tree_new(FLAME_NS, 1, &tree), 0);
    for (size_t i = 0; i < FLAME_MAX_FRAMES + 10; i++)
        frames[i] = name(tree, "again");
    struct flame_sums huge = {.value = UINT64_MAX - 5, .count = 1}, six = {.value = 6, .count = 1};
    assert_int_equal(flame_tree_add(tree, 0, frames, FLAME_MAX_FRAMES + 10, huge), 0);
    assert_int_equal(tree->cut_deep, 1);
    assert_int_equal(flame_tree_add(tree, 0, frames, 1, six), -EOVERFLOW);
    assert_non_null(strstr(err_message(), "2^64"));
    six.value = 5;
    assert_int_equal(flame_tree_add(tree, 0, frames, 1, six), 0);
    assert_int_equal(flame_tree_finish(tree), 0);
    assert_true(tree->nodes[0].total[0].value == UINT64_MAX);
    assert_int_equal(tree->deepest, FLAME_MAX_FRAMES);
    flame_tree_free(tree);
}

static void test_sides_are_compared_by_share(void **state)
{
    struct flame_tree *tree;
    (void)state;
    assert_int_equal(flame_tree_new(FLAME_SAMPLES, 2, &tree), 0);
    add(tree, 0, "a", 10);
    add(tree, 0, "b", 30);
    add(tree, 1, "a", 300);
    add(tree, 1, "c", 100);
    assert_int_equal(flame_tree_finish(tree), 0);
    assert_true(flame_width(tree, find(tree, "a")) == 0.5);
    assert_true(flame_width(tree, find(tree, "b")) == 0.375);
    assert_true(flame_width(tree, find(tree, "c")) == 0.125);
    flame_tree_free(tree);
}

/* Samples of two kinds, two threads of a pool, two ops. */
static struct flame_tree *folded(const struct flame_options *options)
{
    struct flame_fold *fold;
    struct flame_tree *tree;
    assert_int_equal(flame_fold_new(options, 1, &fold, &tree), 0);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t frames[] = {name(tree, "main"), name(tree, i % 2 ? "odd" : "even")};
        struct flame_sample sample = {.frame_count = 2,
                                      .frames = frames,
                                      .kind = i < 2 ? FLAME_lock : FLAME_offcpu,
                                      .begin_ns = 1000 + i * 100,
                                      .value_ns = 10u << i,
                                      .count = 1};
        sample.attributes[FLAME_BY_THREAD] = name(tree, i % 2 ? "tp_osd 1" : "tp_osd 2");
        sample.attributes[FLAME_BY_OP] = name(tree, i < 3 ? "write" : "read");
        if (i == 1)
            sample.attributes[FLAME_BY_STAGE] = name(tree, "pg.lock");
        assert_int_equal(flame_fold_take(fold, &sample), 0);
    }
    assert_int_equal(flame_fold_finish(fold), 0);
    flame_fold_free(fold);
    return tree;
}

static void check(struct flame_options options, uint64_t total, const char *path, uint64_t value)
{
    struct flame_tree *tree = folded(&options);
    assert_int_equal(tree->nodes[0].total[0].value, total);
    if (path) {
        assert_non_null(find(tree, path));
        assert_int_equal(find(tree, path)->total[0].value, value);
    }
    flame_tree_free(tree);
}

static void test_filters_and_views(void **state)
{
    (void)state;
    struct flame_options all = {.weight = FLAME_WEIGHT_TIME}, options = all;
    check(all, 150, "main;odd", 100);
    options.kinds = 1u << FLAME_lock;
    check(options, 30, "main;even", 10);
    options = all;
    options.op = "wr*";
    check(options, 70, NULL, 0);
    options = all;
    options.stage = "pg.lock";
    check(options, 20, "main;odd", 20);
    options = all;
    options.thread = "*2";
    check(options, 50, "main;even", 50);
    options = all;
    options.in_range = true;
    options.from_ns = 100;
    options.to_ns = 300;
    check(options, 60, "main;even", 40);
    options = all;
    options.inverted = true;
    check(options, 150, "odd;main", 100);
    options = all;
    options.by_count = 2;
    options.by[0] = FLAME_BY_POOL;
    options.by[1] = FLAME_BY_OP;
    check(options, 150, "tp_osd;read;main;odd", 80);
    options.by[1] = FLAME_BY_STAGE;
    check(options, 150, "tp_osd;[not known]", 130);
    options = all;
    options.weight = FLAME_WEIGHT_COUNT;
    check(options, 4, "main;odd", 2);
}

static void test_kinds_have_names(void **state)
{
    (void)state;
    assert_int_equal(flame_kinds_by_name("lock"), 1u << FLAME_lock);
    assert_int_equal(flame_kinds_by_name("wall"),
                     1u << FLAME_cpu | 1u << FLAME_offcpu | 1u << FLAME_runnable);
    assert_int_equal(flame_kinds_by_name("locks"), 0);
    assert_non_null(strstr(err_message(), "locks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_are_what_is_above),
        cmocka_unit_test(test_memory_follows_stacks_not_samples),
        cmocka_unit_test(test_what_does_not_fit_is_refused_or_counted),
        cmocka_unit_test(test_sides_are_compared_by_share),
        cmocka_unit_test(test_filters_and_views),
        cmocka_unit_test(test_kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
