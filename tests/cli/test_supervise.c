/* SPDX-License-Identifier: MIT */
/* Work that fails in every way that it can, and what its supervisor makes of it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "err.h"
#include "interrupt.h"
#include "supervise.h"

/* What the work of a test does, and where the test learns of it. */
struct order {
    void (*act)(const struct order *order);
    uint64_t calls; /* of which the last one acts; 0: it acts outside of any */
    int pipe[2];
    char directory[64];
};

static bool is_fatal(const struct read_watch *watch)
{
    for (size_t i = 0; i < watch->fatal_count; i++)
        if (watch->fatal[i].call == watch->call)
            return true;
    return false;
}

/* Leaves out what it is told to. */
static int work(void *context, struct supervision *supervision)
{
    const struct order *order = context;
    struct read_watch *watch = &supervision->watch;

    if (order->calls == 0)
        order->act(order);
    for (watch->call = 1; watch->call <= order->calls; watch->call++) {
        watch->beats++;
        if (is_fatal(watch))
            return err_set(EIO, "call %d: %s", (int)watch->call, watch->fatal[0].why);
        if (watch->call == order->calls)
            order->act(order);
    }
    return 0;
}

static void abort_now(const struct order *order)
{
    (void)order;
    abort();
}

static void go_round(const struct order *order)
{
    (void)order;
    for (volatile unsigned round = 0;; round++)
        ;
}

static void leave(const struct order *order)
{
    (void)order;
    _exit(3);
}

#ifndef __SANITIZE_ADDRESS__
static void take_memory(const struct order *order)
{
    (void)order;
    for (;;) {
        volatile char *taken = malloc(1 << 20);
        if (!taken)
            abort();
        *taken = 1;
    }
}
#endif

static void do_well(const struct order *order)
{
    (void)order;
}

static void leave_files_behind(const struct order *order)
{
    char path[256];
    size_t length = (size_t)snprintf(path, sizeof(path), "%s/stand-in", getenv("TMPDIR"));

    if (mkdir(path, 0700) < 0)
        return;
    snprintf(path + length, sizeof(path) - length, "/stream");
    if (symlink(order->directory, path) == 0)
        abort();
}

static int told; /* a pipe, for the handler */

static void tell(int number)
{
    (void)number;
    if (write(told, "s", 1) != 1)
        abort();
}

static void heed_no_signal(const struct order *order)
{
    told = order->pipe[1];
    signal(SIGTERM, tell);
    tell(0);
    go_round(order);
}

static void sleep_on(const struct order *order)
{
    told = order->pipe[1];
    signal(SIGTERM, tell);
    tell(0);
    for (;;)
        pause();
}

static const struct supervisor_options soon = {
    .data_name = "here", .stuck_seconds = 0.5, .data_bytes = 256 << 20};

static void sound_work_is_passed_on(void **state)
{
    (void)state;
    struct order order = {.act = do_well, .calls = 3};
    assert_int_equal(supervise(work, &order, NULL), 0);
}

/* Runs work that goes wrong before anything is read. */
static void assert_reason(void (*act)(const struct order *order), const char *reason)
{
    struct order order = {.act = act};
    char message[256];

    snprintf(message, sizeof(message),
             "here: is damaged: babeltrace2 %s on it, and nothing of it can be read", reason);
    assert_int_equal(supervise(work, &order, &soon), -EIO);
    assert_string_equal(err_message(), message);
}

static void what_brings_it_down_is_told(void **state)
{
    (void)state;
    assert_reason(abort_now, "aborts");
    assert_reason(leave, "ends with status 3");
    assert_reason(go_round, "does not come to an end");
#ifndef __SANITIZE_ADDRESS__
    assert_reason(take_memory, "aborts");
#endif
}

static void the_call_that_brings_it_down_is_left_out(void **state)
{
    (void)state;
    struct order order = {.act = abort_now, .calls = 7};
    assert_int_equal(supervise(work, &order, &soon), -EIO);
    assert_string_equal(err_message(), "call 7: babeltrace2 aborts");
    order.act = go_round;
    assert_int_equal(supervise(work, &order, &soon), -EIO);
    assert_string_equal(err_message(), "call 7: babeltrace2 does not come to an end");
}

static void an_ignored_sigchld_hides_nothing(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_reason(abort_now, "aborts");
}

static void what_a_child_leaves_behind_is_removed(void **state)
{
    (void)state;
    struct order order = {.act = leave_files_behind};
    char kept[128];

    snprintf(order.directory, sizeof(order.directory), "/tmp/optrail-test-XXXXXX");
    assert_non_null(mkdtemp(order.directory));
    snprintf(kept, sizeof(kept), "%s/kept", order.directory);
    assert_int_equal(mkdir(kept, 0700), 0);
    setenv("TMPDIR", order.directory, 1);
    assert_int_equal(supervise(work, &order, &soon), -EIO);
    unsetenv("TMPDIR");
    assert_non_null(strstr(err_message(), "aborts"));
    /* the link in it led here, and was not followed */
    assert_int_equal(rmdir(kept), 0);
    assert_int_equal(rmdir(order.directory), 0);
}

/* A process that supervises work which heeds no signal; returns when that has begun. */
static pid_t begin(struct order *order)
{
    char byte;

    assert_int_equal(pipe(order->pipe), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct supervisor_options patient = {.stuck_seconds = 1e6};
        _exit(supervise(work, order, &patient) == -EIO ? 1 : 9);
    }
    assert_int_equal(read(order->pipe[0], &byte, 1), 1);
    return pid;
}

/* Its wait status, when it has ended. */
static int end(struct order *order, pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(order->pipe[0]);
    close(order->pipe[1]);
    return status;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A signal that comes twice at once, as timeout(1) sends it, is one wish. */
static void later_signals_end_what_does_not_heed_the_first(void **state)
{
    (void)state;
    struct order order = {.act = sleep_on};
    pid_t pid = begin(&order);
    double began = seconds_now();
    siginfo_t ended = {0};
    char byte;

    kill(pid, SIGTERM);
    assert_int_equal(read(order.pipe[0], &byte, 1), 1);
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
        kill(pid, SIGTERM);
        usleep(10000);
    }
    assert_true(seconds_now() - began >= INTERRUPT_GRACE_NS * 1e-9);
    int status = end(&order, pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void after_one_signal_it_has_a_little_time(void **state)
{
    (void)state;
    struct order order = {.act = heed_no_signal};
    pid_t pid = begin(&order);

    kill(pid, SIGTERM);
    int status = end(&order, pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_work_is_passed_on),
        cmocka_unit_test(what_brings_it_down_is_told),
        cmocka_unit_test(the_call_that_brings_it_down_is_left_out),
        cmocka_unit_test(an_ignored_sigchld_hides_nothing),
        cmocka_unit_test(what_a_child_leaves_behind_is_removed),
        cmocka_unit_test(later_signals_end_what_does_not_heed_the_first),
        cmocka_unit_test(after_one_signal_it_has_a_little_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
