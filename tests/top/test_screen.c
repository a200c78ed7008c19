/* SPDX-License-Identifier: MIT */
/*
 * Pages of the live screen against golden texts. With OPTRAIL_UPDATE=1 in the environment they are
 * written anew: look at them before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "screen.h"
#include "screen_page.h"
#include "screen_story.h"

static const char *directory;
static struct screen_story story;

static int tell(void **state)
{
    (void)state;
    screen_story_tell(&story);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    screen_story_free(&story);
    return 0;
}

static const struct screen_view plain_view = {
    .columns = 80, .lines = 24, .utf8 = true, .interval_seconds = 1};

static char *render(const struct screen *screen)
{
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    screen_render(screen, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *page_of(struct screen_view view)
{
    struct screen screen = {story.whole, story.interval, story.history, view};
    return render(&screen);
}

static void check_golden(const char *name, char *text)
{
    char file[4096], golden[16384] = "";
    snprintf(file, sizeof(file), "%s/%s", directory, name);
    if (getenv("OPTRAIL_UPDATE")) {
        FILE *out = fopen(file, "w");
        assert_non_null(out);
        assert_true(fputs(text, out) >= 0);
        assert_int_equal(fclose(out), 0);
    }
    FILE *in = fopen(file, "r");
    if (!in)
        fail_msg("%s is not there", file);
    golden[fread(golden, 1, sizeof(golden) - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    assert_string_equal(text, golden);
    free(text);
}

/* No line is longer, and there are no more of them, than the terminal has. */
static void check_fits(const char *text, size_t columns, size_t lines)
{
    size_t count = 0;
    for (const char *line = text; *line; count++) {
        char copy[4096];
        size_t length = strcspn(line, "\n");
        assert_true(length < sizeof(copy));
        memcpy(copy, line, length);
        copy[length] = '\0';
        if (page_columns(copy) > columns)
            fail_msg("%zux%zu: %zu columns: %s", columns, lines, page_columns(copy), copy);
        line += length + (line[length] == '\n');
    }
    if (count > lines)
        fail_msg("%zux%zu: %zu lines", columns, lines, count);
}

static void in_80x24_the_last_second_is_shown(void **state)
{
    (void)state;
    check_golden("last-second.txt", page_of(plain_view));
}

static void without_utf8_it_is_ascii(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.utf8 = false;
    char *text = page_of(view);
    for (const char *at = text; *at; at++)
        assert_true((unsigned char)*at < 128);
    check_golden("ascii.txt", text);
}

static void a_wide_terminal_is_used(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.columns = 150;
    view.lines = 30;
    view.sort = SCREEN_BY_SHARE;
    view.whole_run = true;
    check_golden("wide.txt", page_of(view));
}

static void in_a_low_one_the_smaller_stages_are_summed_up(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.columns = 60;
    view.lines = 12;
    view.sort = SCREEN_BY_P99;
    check_golden("low.txt", page_of(view));
}

static void another_type_paused_with_a_message(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.type = "read";
    view.paused = true;
    view.message = "written: a.txt";
    check_golden("read-paused.txt", page_of(view));
}

static void help_tells_the_keys(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.help = true;
    check_golden("help.txt", page_of(view));
}

static void colours_are_ended_on_their_line(void **state)
{
    (void)state;
    struct screen_view view = plain_view;
    view.color = true;
    char *text = page_of(view);
    assert_non_null(strstr(text, "\033[31m")); /* a lock is red */
    check_golden("colour.txt", text);
}

static void before_the_first_op(void **state)
{
    (void)state;
    struct report *empty;
    assert_int_equal(report_new(&empty), 0);
    struct screen_history *history;
    assert_int_equal(screen_history_new(&history), 0);
    struct screen screen = {empty, empty, history, plain_view};
    char *text = render(&screen);
    assert_non_null(strstr(text, "no op has finished yet"));
    assert_non_null(strstr(text, "nothing lost"));
    check_fits(text, 80, 24);
    free(text);
    screen_history_free(history);
    report_free(empty);
}

static void an_interval_without_ops_of_the_type_says_so(void **state)
{
    (void)state;
    struct report *empty;
    assert_int_equal(report_new(&empty), 0);
    struct screen screen = {story.whole, empty, story.history, plain_view};
    char *text = render(&screen);
    assert_non_null(strstr(text, "no write in this interval"));
    free(text);
    report_free(empty);
}

static void every_size_fits(void **state)
{
    (void)state;
    for (size_t columns = 1; columns <= 200; columns += 3) {
        for (size_t lines = 1; lines <= 60; lines++) {
            for (int help = 0; help < 2; help++) {
                struct screen_view view = plain_view;
                view.columns = columns;
                view.lines = lines;
                view.help = help;
                char *text = page_of(view);
                check_fits(text, columns, lines);
                assert_true(*text);
                free(text);
            }
        }
    }
}

/* Names come from path files of others. */
static void a_hostile_name_moves_no_cursor(void **state)
{
    (void)state;
    struct report *report;
    struct report_op *op;
    struct report_stage *stage;
    assert_int_equal(report_new(&report), 0);
    assert_int_equal(report_add_op(report, "\033[2Jop", "path", &op), 0);
    op->count = 1;
    assert_int_equal(report_add_stage(op, "\033[31m\001\002", "k\r", "", NULL, &stage), 0);
    stage->count = 1;
    struct screen screen = {report, report, story.history, plain_view};
    char *text = render(&screen);
    for (const char *at = text; *at; at++)
        assert_true((unsigned char)*at >= ' ' || *at == '\n');
    free(text);
    report_free(report);
}

static void plain_lines_tell_the_same(void **state)
{
    (void)state;
    struct screen screen = {story.whole, story.interval, story.history, plain_view};
    size_t size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    screen_plain(&screen, "12:00:01", out);
    assert_int_equal(fclose(out), 0);
    check_golden("plain.txt", text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_80x24_the_last_second_is_shown),
        cmocka_unit_test(without_utf8_it_is_ascii),
        cmocka_unit_test(a_wide_terminal_is_used),
        cmocka_unit_test(in_a_low_one_the_smaller_stages_are_summed_up),
        cmocka_unit_test(another_type_paused_with_a_message),
        cmocka_unit_test(help_tells_the_keys),
        cmocka_unit_test(colours_are_ended_on_their_line),
        cmocka_unit_test(before_the_first_op),
        cmocka_unit_test(an_interval_without_ops_of_the_type_says_so),
        cmocka_unit_test(every_size_fits),
        cmocka_unit_test(a_hostile_name_moves_no_cursor),
        cmocka_unit_test(plain_lines_tell_the_same),
    };
    if (argc != 2)
        return 2;
    directory = argv[1];
    return cmocka_run_group_tests(tests, tell, forget);
}
