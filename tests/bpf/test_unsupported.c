/* SPDX-License-Identifier: MIT */
/* A build without eBPF says so, and says what to do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "tracer.h"

static void test_it_says_so(void **state)
{
    (void)state;
    const struct target target = {.pid = 1};
    const struct tracer_options options = {0};
    struct tracer *tracer;
    assert_false(tracer_supported());
    assert_int_equal(tracer_open(&target, NULL, &options, &tracer), -ENOTSUP);
    assert_null(tracer);
    assert_non_null(strstr(err_message(), "built without eBPF"));
    tracer_close(tracer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
