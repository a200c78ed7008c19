/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "err.h"

static void a_failure_has_a_number_and_a_sentence(void **state)
{
    (void)state;
    assert_int_equal(err_set(ENOENT, "%s: no such trace", "here"), -ENOENT);
    assert_string_equal(err_message(), "here: no such trace");
    assert_int_equal(err_prefix(-ENOENT, "run %d", 2), -ENOENT);
    assert_string_equal(err_message(), "run 2: here: no such trace");
}

static void a_message_is_one_line(void **state)
{
    (void)state;
    err_set(EINVAL, "a name with\nnew line, \033[31mcolour and \x7f");
    assert_string_equal(err_message(), "a name with new line,  [31mcolour and  ");
}

static void a_message_does_nothing_to_the_terminal(void **state)
{
    (void)state;
    /* CSI as one character, in UTF-8 and alone; a direction; and a letter that is none of these */
    err_set(EINVAL, "\xc2\x9b"
                    "31m \x9b"
                    "2J \xe2\x80\xae \xc3\xa9");
    assert_string_equal(err_message(), "\\xc2\\x9b31m \\x9b2J \\xe2\\x80\\xae \xc3\xa9");
    err_prefix(-EINVAL, "\xc2\x9b");
    assert_string_equal(err_message(),
                        "\\xc2\\x9b: \\xc2\\x9b31m \\x9b2J \\xe2\\x80\\xae \xc3\xa9");
}

static void a_long_message_is_cut(void **state)
{
    (void)state;
    char name[4000];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    err_set(EINVAL, "%s", name);
    size_t length = strlen(err_message());
    assert_true(length > 1000 && length < 1100);
    err_prefix(-EINVAL, "%s", name);
    assert_int_equal(strlen(err_message()), length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_a_number_and_a_sentence),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(a_message_does_nothing_to_the_terminal),
        cmocka_unit_test(a_long_message_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
