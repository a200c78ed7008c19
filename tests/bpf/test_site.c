/* SPDX-License-Identifier: MIT */
/* Where in a function a probe goes: small functions, byte by byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "site.h"
#include "uprobe.h"

#define RDI (1u << UPROBE_RDI)
#define RSI (1u << UPROBE_RSI)
#define RSP (1u << UPROBE_RSP)

struct sample {
    const char *text;
    const uint8_t *code;
    size_t size;
    unsigned registers;
    int nth;
    int offset; /* where the probe must go; -1: nowhere */
};

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})

static const struct sample samples[] = {
    {"push %rbp", CODE(0x55, 0x48, 0x89, 0xe5, 0xc3), RDI, 0, 0},
    {"push %r15", CODE(0x41, 0x57, 0x41, 0x56, 0xc3), RDI, 0, 0},
    {"a second point goes to the second push", CODE(0x41, 0x57, 0x41, 0x56, 0xc3), RDI, 1, 2},
    {"a second point, but rsp has moved", CODE(0x41, 0x57, 0x41, 0x56, 0xc3), RDI | RSP, 1, -1},
    {"nop", CODE(0x90, 0xc3), RDI, 0, 0},
    {"endbr64; push %rbx", CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xc3), RDI, 0, 4},
    {"xor %eax,%eax; push %rbx", CODE(0x31, 0xc0, 0x53, 0xc3), RDI, 0, 2},
    {"mov %rdi,%rbx; push %rbp: rdi is still there", CODE(0x48, 0x89, 0xfb, 0x55, 0xc3), RDI, 0, 3},
    {"xor %edi,%edi; push: the key is gone", CODE(0x31, 0xff, 0x55, 0xc3), RDI, 0, -1},
    {"xor %edi,%edi; push: but rsi is wanted", CODE(0x31, 0xff, 0x55, 0xc3), RSI, 0, 2},
    {"mov %dil (a part of rdi); push", CODE(0x40, 0xb7, 0x01, 0x55, 0xc3), RDI, 0, -1},
    {"sub $8,%rsp; push", CODE(0x48, 0x83, 0xec, 0x08, 0x55, 0xc3), RDI, 0, 4},
    {"sub $8,%rsp; push: stack arguments have moved", CODE(0x48, 0x83, 0xec, 0x08, 0x55, 0xc3), RSP,
     0, -1},
    {"movq $0,(%rsi); push: what rsi points to has changed",
     CODE(0x48, 0xc7, 0x06, 0, 0, 0, 0, 0x55, 0xc3), RSI, 0, -1},
    {"test %rdi,%rdi; je", CODE(0x48, 0x85, 0xff, 0x74, 0x01, 0x90, 0xc3), RDI, 0, 3},
    {"test; near jne", CODE(0x48, 0x85, 0xff, 0x0f, 0x85, 0, 1, 0, 0, 0xc3), RDI, 0, 3},
    {"jmp", CODE(0xe9, 0, 1, 0, 0), RDI, 0, 0},
    {"call", CODE(0xe8, 0, 1, 0, 0, 0xc3), RDI, 0, 0},
    {"nothing behind a call: it may change everything",
     CODE(0x48, 0x83, 0xec, 0x08, 0xff, 0xd0, 0x90, 0xc3), RDI, 0, -1},
    {"ret", CODE(0xc3), RDI, 0, -1},
    {"mov; ret", CODE(0x48, 0x89, 0xf8, 0xc3, 0x55), RDI, 0, -1},
    {"a nop of several bytes is no nop for the kernel", CODE(0x0f, 0x1f, 0x44, 0, 0, 0xc3), RDI, 0,
     -1},
    {"a jump with a prefix is single-stepped", CODE(0xf2, 0xeb, 0x00, 0xc3), RDI, 0, -1},
    /* xor %eax,%eax; L: push %rbx; pop %rbx; jmp L */
    {"the push is in a loop", CODE(0x31, 0xc0, 0x53, 0x5b, 0xeb, 0xfc), RDI, 0, -1},
    {"an instruction cut off", CODE(0x48, 0x83), RDI, 0, -1},
    {"no instruction", CODE(0x06, 0x55), RDI, 0, -1},
};

static void test_sites(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const struct sample *sample = &samples[i];
        struct site site;
        int result =
            site_choose(sample->code, sample->size, sample->registers, sample->nth, false, &site);
        if (sample->offset < 0
                ? result != -ENOTSUP
                : result != 0 || site.offset != (uint64_t)sample->offset || site.slow)
            fail_msg("%s: %d (%s), site %d", sample->text, result, result ? err_message() : "",
                     result ? -1 : (int)site.offset);
    }
}

static void test_slow_only_when_allowed(void **state)
{
    (void)state;
    const uint8_t code[] = {0x31, 0xff, 0x55, 0xc3};
    struct site site;
    assert_int_equal(site_choose(code, sizeof(code), RDI, 0, false, &site), -ENOTSUP);
    assert_non_null(strstr(err_message(), "--allow-slow"));
    assert_int_equal(site_choose(code, sizeof(code), RDI, 0, true, &site), 0);
    assert_int_equal(site.offset, 0);
    assert_true(site.slow);
}

static void test_bytes_that_are_no_code_are_never_probed(void **state)
{
    (void)state;
    const uint8_t code[] = {0x06, 0x55};
    struct site site;
    assert_int_equal(site_choose(code, sizeof(code), RDI, 0, true, &site), -ENOTSUP);
    assert_int_equal(site_choose(code, 0, RDI, 0, true, &site), -ENOTSUP);
}

static void test_nop_pair(void **state)
{
    (void)state;
    const uint8_t pair[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    const uint8_t other[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    assert_true(site_is_nop_pair(pair, sizeof(pair)));
    assert_false(site_is_nop_pair(pair, sizeof(pair) - 1));
    assert_false(site_is_nop_pair(other, sizeof(other)));
}

/* mov $0x90909090,%eax; push %rbx; nop; and bytes that are no instruction */
static void test_boundaries(void **state)
{
    (void)state;
    const uint8_t code[] = {0xb8, 0x90, 0x90, 0x90, 0x90, 0x53, 0x90, 0x06, 0x90};
    const bool begins[] = {true, false, false, false, false, true, true, true, false};
    for (size_t i = 0; i < sizeof(code); i++)
        if (site_is_boundary(code, sizeof(code), i) != begins[i])
            fail_msg("offset %zu", i);
    assert_false(site_is_boundary(code, sizeof(code), sizeof(code)));
    assert_false(site_is_boundary(code, sizeof(code), UINT64_MAX));
    assert_false(site_is_boundary(code, 3, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_slow_only_when_allowed),
        cmocka_unit_test(test_bytes_that_are_no_code_are_never_probed),
        cmocka_unit_test(test_nop_pair),
        cmocka_unit_test(test_boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
