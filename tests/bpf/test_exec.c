/* SPDX-License-Identifier: MIT */
/* A process that becomes another program, or ends, while a tracer gets ready for it: it is given
 * up, and not one byte of the new program is touched. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "tracer.h"
#include "tracer_internal.h"

static const char *program;

/* What it becomes: copies its input to its output until that ends. */
#define OTHER "/bin/cat"

struct child {
    pid_t pid;
    int input, output;
    struct target target; /* as it was inspected before it changed */
};

static int start(void **state)
{
    static struct child child;
    int in[2], out[2];
    char byte;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    child.pid = fork();
    if (child.pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(program, program, OTHER, (char *)NULL);
        _exit(3);
    }
    assert_true(child.pid > 0);
    close(in[0]);
    close(out[1]);
    child.input = in[1];
    child.output = out[0];
    assert_int_equal(read(child.output, &byte, 1), 1);
    assert_int_equal(target_inspect(child.pid, &child.target), 0);
    assert_int_equal(child.target.usdt_probes, 1);
    *state = &child;
    return 0;
}

/* The first byte makes it another program, the second one comes back from that. */
static void become_another(const struct child *child)
{
    char byte = 0;
    assert_int_equal(write(child->input, "x", 1), 1);
    assert_int_equal(write(child->input, "y", 1), 1);
    assert_int_equal(read(child->output, &byte, 1), 1);
    assert_int_equal(byte, 'y');
}

/* It works on, and ends as it should. */
static int finish(void **state)
{
    struct child *child = *state;
    int status = 0;
    char byte = 0;
    if (child->pid > 0) {
        assert_int_equal(write(child->input, "z", 1), 1);
        assert_int_equal(read(child->output, &byte, 1), 1);
        assert_int_equal(byte, 'z');
    }
    close(child->input);
    close(child->output);
    if (child->pid > 0) {
        assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}

static void kill_child(struct child *child)
{
    assert_int_equal(kill(child->pid, SIGKILL), 0);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    child->pid = 0;
}

static void test_between_looking_and_opening(void **state)
{
    struct child *child = *state;
    const struct tracer_options options = {0};
    struct tracer *tracer;
    become_another(child);
    assert_int_equal(tracer_open(&child->target, NULL, &options, &tracer), -ESTALE);
    assert_null(tracer);
    assert_non_null(strstr(err_message(), "has become another program"));
}

static void test_between_choosing_and_attaching(void **state)
{
    struct child *child = *state;
    const struct tracer_options options = {0};
    struct tracer *tracer;
    assert_int_equal(tracer_open(&child->target, NULL, &options, &tracer), 0);
    tracer_stop(tracer);
    become_another(child);
    assert_int_equal(tracer_resume(tracer), -ESTALE);
    assert_non_null(strstr(err_message(), "has become another program"));
    assert_false(tracer->attached);
    tracer_close(tracer);
}

/* Even where nobody looks: the probes are put in the file that was opened, and nowhere else. */
static void test_probes_are_of_the_file(void **state)
{
    struct child *child = *state;
    const struct tracer_options options = {0};
    struct tracer *tracer;
    char path[64], file[PATH_MAX] = "";
    assert_int_equal(tracer_open(&child->target, NULL, &options, &tracer), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", tracer->program);
    assert_true(readlink(path, file, sizeof(file) - 1) > 0);
    assert_non_null(strstr(file, "exec_target"));
    become_another(child);
    /* the way in once more, as if the change had not been seen */
    struct target *target = &tracer->target, now;
    tracer_stop(tracer);
    assert_int_equal(target_inspect(child->pid, &now), 0);
    target->device = now.device;
    target->inode = now.inode;
    assert_int_equal(tracer_resume(tracer), 0);
    assert_true(tracer->attached);
    char byte = 0; /* it works on while they are in */
    assert_int_equal(write(child->input, "w", 1), 1);
    assert_int_equal(read(child->output, &byte, 1), 1);
    assert_int_equal(byte, 'w');
    tracer_close(tracer);
}

static void test_it_has_ended(void **state)
{
    struct child *child = *state;
    const struct tracer_options options = {0};
    struct tracer *tracer;
    kill_child(child);
    assert_int_equal(tracer_open(&child->target, NULL, &options, &tracer), -ESRCH);
    assert_non_null(strstr(err_message(), "has ended"));
}

/* A number that was given to another process: same program, but begun at another time. */
static void test_number_of_another(void **state)
{
    struct child *child = *state;
    const struct tracer_options options = {0};
    struct tracer *tracer;
    assert_true(child->target.started > 0);
    child->target.started--;
    assert_int_equal(tracer_open(&child->target, NULL, &options, &tracer), -ESTALE);
    become_another(child); /* so that it ends as the others do */
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (geteuid() != 0 || access("/sys/kernel/btf/vmlinux", R_OK)) {
        puts("skipped: tracing needs root and the kernel's type information");
        return 77;
    }
    program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_between_looking_and_opening, start, finish),
        cmocka_unit_test_setup_teardown(test_between_choosing_and_attaching, start, finish),
        cmocka_unit_test_setup_teardown(test_probes_are_of_the_file, start, finish),
        cmocka_unit_test_setup_teardown(test_it_has_ended, start, finish),
        cmocka_unit_test_setup_teardown(test_number_of_another, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
