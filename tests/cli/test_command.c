/* SPDX-License-Identifier: MIT */
/* The option parser, and how mistyped words find their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "command.h"
#include "err.h"
#include "suggest.h"

static bool verbose, quiet, pid_given;
static const char *file;
static int64_t pid;
static double seconds;

static const struct option_row rows[] = {
    {.name = "verbose", .letter = 'v', .type = OPTION_FLAG, .value = &verbose, .text = ""},
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .value = &quiet, .text = ""},
    {.name = "file", .letter = 'f', .type = OPTION_STRING, .argument = "F", .value = &file},
    {.name = "pid",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "PID",
     .value = &pid,
     .minimum = 1,
     .maximum = 4194304,
     .given = &pid_given},
    {.name = "seconds",
     .letter = 'd',
     .type = OPTION_SECONDS,
     .argument = "S",
     .value = &seconds,
     .minimum = 0.1,
     .maximum = 1e6},
    {0},
};

static const struct command command = {
    .name = "try", .arguments = "WORD", .summary = "", .options = rows, .maximum_arguments = 2};

/* Parses "try" and these words; what is left stands in `rest`. */
static const char *rest[8];
static int rest_count;

static int parse(const char *const *words)
{
    char *argv[16] = {(char *)"try"};
    int argc = 1, result;

    verbose = quiet = pid_given = false;
    file = NULL;
    pid = 0;
    seconds = 0;
    while (*words)
        argv[argc++] = (char *)*words++;
    result = command_parse(&command, &argc, argv);
    rest_count = argc;
    for (int i = 0; result == 0 && i < argc; i++)
        rest[i] = argv[i];
    return result;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void test_every_form_of_a_value(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--pid", "5"), 0);
    assert_int_equal(pid, 5);
    assert_true(pid_given);
    assert_int_equal(PARSE("--pid=6"), 0);
    assert_int_equal(pid, 6);
    assert_int_equal(PARSE("-p", "7"), 0);
    assert_int_equal(pid, 7);
    assert_int_equal(PARSE("-p8"), 0);
    assert_int_equal(pid, 8);
    assert_int_equal(PARSE("-d0.5"), 0);
    assert_true(seconds > 0.49 && seconds < 0.51);
    assert_false(pid_given);
}

static void test_flags_in_one_word(void **state)
{
    (void)state;
    assert_int_equal(PARSE("-vqfname"), 0);
    assert_true(verbose && quiet);
    assert_string_equal(file, "name");
}

static void test_arguments_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(PARSE("one", "--pid", "5", "two"), 0);
    assert_int_equal(rest_count, 2);
    assert_string_equal(rest[0], "one");
    assert_string_equal(rest[1], "two");
    assert_int_equal(pid, 5);
    /* what follows -- is no option; a single - is none either */
    assert_int_equal(PARSE("-", "--", "--pid"), 0);
    assert_int_equal(rest_count, 2);
    assert_string_equal(rest[0], "-");
    assert_string_equal(rest[1], "--pid");
}

static void refuse(int result, const char *words)
{
    assert_int_equal(result, -EINVAL);
    if (!strstr(err_message(), words))
        fail_msg("'%s' does not say '%s'", err_message(), words);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    refuse(PARSE("--pid"), "--pid needs a value");
    refuse(PARSE("-p"), "--pid needs a value");
    refuse(PARSE("--pid", "0"), "0 is not between 1 and 4194304");
    refuse(PARSE("--pid", "4194305"), "not between");
    refuse(PARSE("--pid", "5x"), "'5x' is no whole number");
    refuse(PARSE("--pid", ""), "no whole number");
    refuse(PARSE("--pid", "99999999999999999999"), "no whole number");
    refuse(PARSE("--seconds", "nan"), "no number of seconds");
    refuse(PARSE("--seconds", "inf"), "no number of seconds");
    refuse(PARSE("--seconds", "0.05"), "not between 0.1");
    refuse(PARSE("--verbose=yes"), "takes no value");
    refuse(PARSE("--verbos"), "do you mean --verbose?");
    refuse(PARSE("--nothing-like-it"), "no option --nothing-like-it");
    refuse(PARSE("-x"), "no option -x");
    refuse(PARSE("a", "b", "c"), "and no more");
}

static const char *nearest(const char *word)
{
    static const char *const names[] = {"list", "attach", "report", "points", "paths", NULL};
    struct suggestion suggestion;

    suggest_begin(&suggestion, word, strlen(word));
    for (const char *const *name = names; *name; name++)
        suggest_try(&suggestion, *name);
    return suggestion.nearest;
}

static void test_mistyped_words_find_their_names(void **state)
{
    (void)state;
    assert_string_equal(nearest("reprot"), "report");
    assert_string_equal(nearest("repor"), "report");
    assert_string_equal(nearest("reports"), "report");
    assert_string_equal(nearest("atach"), "attach");
    assert_string_equal(nearest("pahts"), "paths");
    assert_null(nearest("zzzzzz"));
    assert_null(nearest(""));
    assert_null(nearest("a word that is much too long to be the name of any verb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_a_value),
        cmocka_unit_test(test_flags_in_one_word),
        cmocka_unit_test(test_arguments_stand_anywhere),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_mistyped_words_find_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
