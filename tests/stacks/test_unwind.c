/* SPDX-License-Identifier: MIT */
/*
 * Stacks of a program that is where we know it to be (subject.cc): each must be told as it is, to
 * the thread's start, or with why not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "stack_sampler.h"
#include "symbols.h"
#include "unwind.h"

enum { FRAMES = 256, WAIT_MS = 30000 };

struct subject {
    pid_t pid;
    int input; /* whose end ends it */
    struct unwinder *unwinder;
    struct stack_sampler *sampler;
};

static struct subject start_program(const char *program, const char *mode, const char *file)
{
    struct subject subject = {0};
    int in[2], out[2];
    char ready[8] = "";

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    subject.pid = fork();
    assert_true(subject.pid >= 0);
    if (subject.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(program, program, mode, file, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    assert_int_equal(read(out[0], ready, 6), 6);
    assert_string_equal(ready, "ready\n");
    close(out[0]);
    subject.input = in[1];
    int result = stack_sampler_open(subject.pid, 1000, &subject.sampler);
    if (result == -EACCES || result == -EPERM) {
        printf("%s\n", err_message());
        exit(77);
    }
    assert_int_equal(result, 0);
    assert_int_equal(unwinder_open(subject.pid, &subject.unwinder), 0);
    return subject;
}

static struct subject start(const char *mode, const char *file)
{
    return start_program(SUBJECT, mode, file);
}

static void stop(struct subject *subject)
{
    unwinder_close(subject->unwinder);
    stack_sampler_close(subject->sampler);
    close(subject->input);
    assert_int_equal(waitpid(subject->pid, NULL, 0), subject->pid);
}

/* A copy of a snapshot. */
struct kept {
    struct stack_snapshot snapshot;
    uint8_t stack[65536];
    struct subject *subject;
    const char *wanted; /* a name that its stack contains; NULL: any */
    bool found;
};

static char *text_of(struct subject *subject, const struct stack_snapshot *snapshot,
                     enum unwind_end *end)
{
    uint64_t frames[FRAMES];
    size_t count = unwinder_unwind(subject->unwinder, snapshot, frames, FRAMES, end);
    char *text = symbols_text(subject->unwinder, frames, count, false);
    assert_non_null(text);
    return text;
}

static void keep(void *context, const struct stack_snapshot *snapshot)
{
    struct kept *kept = context;
    enum unwind_end end;
    if (kept->found)
        return;
    char *text = text_of(kept->subject, snapshot, &end);
    kept->found = !kept->wanted || strstr(text, kept->wanted);
    free(text);
    if (!kept->found)
        return;
    kept->snapshot = *snapshot;
    memcpy(kept->stack, snapshot->stack, snapshot->size);
    kept->snapshot.stack = kept->stack;
}

/* Waits for a snapshot whose stack contains a name. */
static const struct stack_snapshot *wait_for(struct subject *subject, const char *wanted)
{
    static struct kept kept;
    kept = (struct kept){.subject = subject, .wanted = wanted};
    for (int waited = 0; !kept.found && waited < WAIT_MS; waited += 10) {
        stack_sampler_read(subject->sampler, keep, &kept);
        poll(NULL, 0, 10);
    }
    assert_true(kept.found);
    return &kept.snapshot;
}

static unsigned occurrences(const char *text, const char *name)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, name)); at += strlen(name))
        count++;
    return count;
}

/* A thread that went down a hundred calls has a hundred frames. */
static void test_known_depth(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start("known", NULL);
    char *text = text_of(&subject, wait_for(&subject, "known_bottom"), &end);
    assert_int_equal(end, UNWIND_COMPLETE);
    assert_int_equal(occurrences(text, ";descend"), 100);
    assert_int_equal(occurrences(text, "run_mode;mode_thread;start_thread;"), 1);
    assert_non_null(strstr(text, "spin_for_ever;known_bottom;descend;descend;"));
    struct unwinder_counts counts = unwinder_counts(subject.unwinder);
    assert_true(counts.modules >= 2 && counts.rows > 1000);
    assert_int_equal(counts.bad_modules, 0);
    free(text);
    stop(&subject);
}

/* A program without any library, and without a search table for its .eh_frame. */
static void test_static(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start_program(STATIC_SUBJECT, "known", NULL);
    char *text = text_of(&subject, wait_for(&subject, "known_bottom"), &end);
    assert_int_equal(end, UNWIND_COMPLETE);
    assert_int_equal(occurrences(text, ";descend"), 100);
    free(text);
    stop(&subject);
}

/* Less of the stack: the same frames, as far as it reaches, and the reason. */
static void test_cut_snapshot(void **state)
{
    uint64_t whole[FRAMES], part[FRAMES];
    enum unwind_end end;
    (void)state;
    struct subject subject = start("known", NULL);
    struct stack_snapshot snapshot = *wait_for(&subject, "known_bottom");
    const size_t size = snapshot.size;
    size_t count = unwinder_unwind(subject.unwinder, &snapshot, whole, FRAMES, &end);
    size_t longest = 0;
    for (size_t left = 0; left < size && left < 4000; left += 8) {
        snapshot.size = left;
        size_t got = unwinder_unwind(subject.unwinder, &snapshot, part, FRAMES, &end);
        if (end == UNWIND_COMPLETE)
            break;
        assert_int_equal(end, UNWIND_SNAPSHOT);
        assert_true(got >= longest && got < count);
        assert_memory_equal(part, whole, got * sizeof(*part));
        longest = got;
    }
    assert_true(longest > 80);
    snapshot.size = size;
    assert_int_equal(unwinder_unwind(subject.unwinder, &snapshot, part, 7, &end), 7);
    assert_int_equal(end, UNWIND_FULL);
    assert_memory_equal(part, whole, 7 * sizeof(*part));
    stop(&subject);
}

/* The caller of a function that never returns is still told by its own name. */
static void test_noreturn(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start("noreturn", NULL);
    char *text = text_of(&subject, wait_for(&subject, "never_returns"), &end);
    assert_int_equal(end, UNWIND_COMPLETE);
    assert_non_null(strstr(text, "spin_for_ever;never_returns;ends_with_a_call;run_mode;"));
    free(text);
    stop(&subject);
}

static void test_signal(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start("signal", NULL);
    char *text = text_of(&subject, wait_for(&subject, "on_signal_for_ever"), &end);
    assert_int_equal(end, UNWIND_COMPLETE);
    assert_non_null(strstr(text, ";on_signal_for_ever;"));
    assert_non_null(strstr(text, ";raises;run_mode;mode_thread;"));
    free(text);
    stop(&subject);
}

/* What the signal interrupted lies on a stack that the snapshot does not have. */
static void test_other_stack(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start("altstack", NULL);
    char *text = text_of(&subject, wait_for(&subject, "on_signal_for_ever"), &end);
    assert_int_equal(end, UNWIND_SNAPSHOT);
    assert_null(strstr(text, "run_mode"));
    free(text);
    stop(&subject);
}

static void test_code_without_rows(void **state)
{
    enum unwind_end end;
    (void)state;
    struct subject subject = start("stackless", NULL);
    char *text = text_of(&subject, wait_for(&subject, "stackless_loop"), &end);
    assert_int_equal(end, UNWIND_NO_ROW);
    assert_string_equal(text, "stackless_loop");
    free(text);
    stop(&subject);
    subject = start("jit", NULL);
    text = text_of(&subject, wait_for(&subject, "?+0x"), &end);
    assert_int_equal(end, UNWIND_NO_MODULE);
    assert_memory_equal(text, "?+0x", 4);
    assert_null(strchr(text, ';'));
    free(text);
    stop(&subject);
}

/* A library that came after the unwinder, and was deleted since: known when mappings are read
 * again. */
static void test_library(void **state)
{
    char file[] = "/tmp/optrail-in-library-XXXXXX";
    char command[512];
    enum unwind_end end;
    (void)state;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof(command), "cp %s %s", LIBRARY, file);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
    struct subject subject = start("library", file);
    assert_int_equal(write(subject.input, "go\n", 3), 3);
    const struct stack_snapshot *snapshot = wait_for(&subject, "spin_for_ever;?+0x");
    char *text = text_of(&subject, snapshot, &end);
    assert_int_equal(end, UNWIND_NO_MODULE);
    free(text);
    assert_int_equal(unwinder_refresh(subject.unwinder), 0);
    text = text_of(&subject, snapshot, &end);
    assert_int_equal(end, UNWIND_COMPLETE);
    assert_non_null(strstr(text, "spin_for_ever;in_library;"));
    struct frame_name name;
    uint64_t frames[FRAMES];
    size_t count = unwinder_unwind(subject.unwinder, snapshot, frames, FRAMES, &end);
    bool named = false;
    for (size_t i = 0; i < count; i++) {
        symbols_find(subject.unwinder, frames[i], i > 0, &name);
        named |= strncmp(name.module, "optrail-in-library-", 19) == 0 && !strchr(name.module, ' ');
    }
    assert_true(named);
    free(text);
    stop(&subject);
}

/* Registers and stacks that are nonsense: an end, and no frame made up behind it. */
static void test_nonsense(void **state)
{
    enum { TURNS = 20000 };
    uint64_t frames[FRAMES], by_libunwind[FRAMES];
    uint8_t stack[4096];
    enum unwind_end end;
    uint64_t random = 88172645463325252;
    unsigned ends[UNWIND_END_COUNT] = {0};
    (void)state;
    struct subject subject = start("known", NULL);
    const struct stack_snapshot good = *wait_for(&subject, "known_bottom");
    size_t count = unwinder_unwind(subject.unwinder, &good, frames, FRAMES, &end);
    uint64_t pcs[FRAMES];
    memcpy(pcs, frames, sizeof(pcs));
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct stack_snapshot bad = good;
        for (size_t i = 0; i < sizeof(stack); i += 8) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint64_t word = random % 3 == 0   ? pcs[random % count] + random % 64
                            : random % 3 == 1 ? good.registers[STACK_RSP] + random % 8192
                                              : random;
            memcpy(stack + i, &word, sizeof(word));
        }
        bad.stack = stack;
        bad.size = random % sizeof(stack);
        bad.registers[STACK_RIP] = pcs[random % count] + random % 16;
        if (turn % 2)
            bad.registers[random % STACK_REGISTERS] = random;
        size_t got = unwinder_unwind(subject.unwinder, &bad, frames, FRAMES, &end);
        assert_true(got >= 1 && got <= FRAMES && end < UNWIND_END_COUNT);
        ends[end]++;
        if (turn % 16 == 0)
            unwinder_by_libunwind(subject.unwinder, &bad, by_libunwind, FRAMES, &end);
    }
    assert_true(ends[UNWIND_SNAPSHOT] > 0 && ends[UNWIND_NO_MODULE] > 0);
    stop(&subject);
}

static void test_no_such_process(void **state)
{
    struct unwinder *unwinder;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    assert_int_equal(unwinder_open(pid, &unwinder), -ESRCH);
    assert_null(unwinder);
    assert_non_null(strstr(err_message(), "there is no process"));
    unwinder_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_depth),
        cmocka_unit_test(test_cut_snapshot),
        cmocka_unit_test(test_static),
        cmocka_unit_test(test_noreturn),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_other_stack),
        cmocka_unit_test(test_code_without_rows),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_no_such_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
