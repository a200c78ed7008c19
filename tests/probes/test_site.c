/* SPDX-License-Identifier: MIT */
/*
 * A tracer's view of every USDT site, without a kernel's help: the parent puts a breakpoint on each
 * site of its child, looks at the registers when the child arrives, and does what a tracer may do
 * there: overwrite the stack below the stack pointer, as the return address that an optimised nop
 * pushes does. The child's event must come through unharmed.
 *
 * Compiled together with probes.c by different compilers and at different levels of optimisation.
 */
#include <optrail/probe.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    void (*emit)(uint64_t key, uint64_t arg0, uint64_t arg1);
    struct optrail_lttng_slot *slot;
} points[] = {
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    {#component "_" #action, optrail_emit_##component##_##action,                                  \
     &optrail_lttng_##component##_##action},
#include <optrail/events.def>
#undef OPTRAIL_POINT
};

enum { POINTS = sizeof(points) / sizeof(points[0]) };

static const uint8_t site_bytes[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00};
enum { SEARCHED_BYTES = 512 };

static uint64_t key_of(size_t point)
{
    return 0x1111111100000000u + point;
}

static uint64_t first_of(size_t point)
{
    return 0x2222222200000000u + point;
}

static uint64_t second_of(size_t point)
{
    return 0x3333333300000000u + point;
}

static int failures;

static void expect(int is_true, size_t point, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "%s: %s\n", points[point].name, what);
    failures++;
}

/* --- the child --- */

static uint64_t received[3];

static void receive(uint64_t key, uint64_t arg0, uint64_t arg1)
{
    received[0] = key;
    received[1] = arg0;
    received[2] = arg1;
}

static int emit_all(void)
{
    static const int is_enabled = 1;
    for (size_t i = 0; i < POINTS; i++) {
        *points[i].slot = (struct optrail_lttng_slot){&is_enabled, receive};
        memset(received, 0, sizeof(received));
        points[i].emit(key_of(i), first_of(i), second_of(i));
        expect(received[0] == key_of(i) && received[1] == first_of(i) &&
                   received[2] == second_of(i),
               i, "the event's values have changed on their way");
    }
    return failures ? 1 : 0;
}

/* --- the parent --- */

#if defined(__x86_64__)

static void must(long result, const char *what)
{
    if (result == -1 && errno) {
        perror(what);
        exit(1);
    }
}

static void poke_byte(pid_t child, const uint8_t *address, uint8_t byte)
{
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, child, address, NULL);
    must(word, "peek");
    word = (long)(((unsigned long)word & ~0xfful) | byte);
    must(ptrace(PTRACE_POKETEXT, child, address, word), "poke");
}

static void look_at_registers(pid_t child, size_t point, const uint8_t *site)
{
    struct user_regs_struct registers;
    must(ptrace(PTRACE_GETREGS, child, NULL, &registers), "registers");
    expect(registers.rip == (uintptr_t)site + 1, point, "stopped elsewhere than at its site");
    expect(registers.rdi == key_of(point), point, "the key is not in rdi");
    expect(registers.rsi == first_of(point), point, "the first argument is not in rsi");
    expect(registers.rdx == second_of(point), point, "the second argument is not in rdx");
    for (unsigned long below = 8; below <= 128; below += 8)
        must(ptrace(PTRACE_POKEDATA, child, registers.rsp - below, 0xdeadbeefdeadbeeful), "stack");
    registers.rip = (uintptr_t)site; /* the nop goes first once more */
    must(ptrace(PTRACE_SETREGS, child, NULL, &registers), "registers");
    poke_byte(child, site, site_bytes[0]);
}

static void trace(pid_t child)
{
    static const uint8_t *sites[POINTS];
    int status = 0;
    waitpid(child, &status, 0); /* its own SIGSTOP */
    for (size_t i = 0; i < POINTS; i++) {
        /* through an integer: a sanitizer takes the function for a one-byte object */
        sites[i] = memmem((const void *)(uintptr_t)points[i].emit, SEARCHED_BYTES, site_bytes,
                          sizeof(site_bytes));
        expect(sites[i] != NULL, i, "no site in its function");
        if (!sites[i])
            exit(1);
        expect((uintptr_t)sites[i] / 4096 == ((uintptr_t)sites[i] + 5) / 4096, i,
               "its site lies in two pages");
        poke_byte(child, sites[i], 0xcc);
    }
    for (size_t i = 0; i < POINTS; i++) {
        must(ptrace(PTRACE_CONT, child, NULL, NULL), "continue");
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
            expect(0, i, "its breakpoint was not hit");
            exit(1);
        }
        look_at_registers(child, i, sites[i]);
    }
    must(ptrace(PTRACE_CONT, child, NULL, NULL), "continue");
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, POINTS - 1, "the child failed");
}

int main(void)
{
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        int result = emit_all();
        fflush(stderr);
        _exit(result); /* no leak check: it would need ptrace itself */
    }
    trace(child);
    printf("%d sites, %d failures\n", POINTS, failures);
    return failures ? 1 : 0;
}

#else

int main(void)
{
    printf("this test knows the registers of x86-64 alone\n");
    return emit_all() ? 1 : 77;
}

#endif
