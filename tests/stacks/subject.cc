/* SPDX-License-Identifier: MIT */
/*
 * A program with all kinds of frames, to be unwound from outside: subject MODE [LIBRARY]. It prints
 * "ready" when its threads are where MODE wants them, and runs until its standard input ends.
 */
#include <alloca.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#define KEEP __attribute__((noinline, noipa))

namespace
{

volatile uint64_t sink;
volatile bool always = true;

[[noreturn]] void usage()
{
    fprintf(stderr,
            "usage: subject known|mixed|noreturn|signal|altstack|jit|stackless|library FILE\n");
    exit(2);
}

} // namespace

/* All the following are global functions, so that a stripped subject built with -rdynamic has their
 * names. */

KEEP void burn(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        sink = sink + i;
}

KEEP void spin_for_ever()
{
    while (always)
        burn(1000);
}

KEEP int descend(int depth, int (*bottom)(int))
{
    if (depth == 1) {
        int result = bottom(depth);
        sink = sink + 1;
        return result;
    }
    int result = descend(depth - 1, bottom);
    asm volatile("" : "+r"(result)); /* no loop in its place */
    return result + 1;
}

KEEP int known_bottom(int depth)
{
    spin_for_ever();
    return depth + (int)sink;
}

/* Frames whose size is not known before, and that are aligned by an expression. */
KEEP int with_alloca(int depth)
{
    char *bytes = static_cast<char *>(alloca(16 + (size_t)(depth % 7) * 32));
    memset(bytes, depth, 16);
    if (depth > 0)
        sink = sink + (uint64_t)with_alloca(depth - 1);
    burn(50);
    return bytes[3] + (int)sink;
}

KEEP int with_alignment(int depth)
{
    alignas(128) char aligned[128];
    char *bytes = static_cast<char *>(alloca(16 + (size_t)(depth % 5) * 48));
    memset(aligned, depth, sizeof(aligned));
    memset(bytes, depth, 16);
    asm volatile("" : : "r"(aligned), "r"(bytes) : "memory");
    if (depth > 0)
        sink = sink + (uint64_t)with_alignment(depth - 1);
    burn(50);
    return aligned[5] + bytes[3];
}

[[noreturn]] KEEP void throw_it(int depth)
{
    burn(20);
    throw std::runtime_error(std::to_string(depth));
}

KEEP void throws_at_its_end(int depth)
{
    std::string held(40, (char)('a' + depth % 20));
    if (depth > 0)
        throws_at_its_end(depth - 1);
    sink = sink + held.size();
    throw_it(depth);
}

KEEP int catches(int depth)
{
    try {
        throws_at_its_end(depth);
    } catch (const std::exception &error) {
        burn(50);
        return atoi(error.what());
    }
    return 0;
}

KEEP int sorts()
{
    std::vector<int> numbers(200);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = (int)((i * 7919) % 200);
    qsort(numbers.data(), numbers.size(), sizeof(int), [](const void *a, const void *b) {
        sink = sink + 1;
        return *static_cast<const int *>(a) - *static_cast<const int *>(b);
    });
    return numbers[3];
}

KEEP uint64_t asks_the_time()
{
    timespec time = {};
    for (int i = 0; i < 200; i++)
        clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_nsec;
}

KEEP void allocates()
{
    std::vector<std::string> all;
    for (int i = 0; i < 100; i++)
        all.emplace_back(100 + (size_t)i, 'x');
    sink = sink + all.size();
}

KEEP void mixed_turn(int turn)
{
    static const std::vector<std::function<void(int)>> kinds = {
        [](int t) { with_alloca(t % 20); },
        [](int t) { with_alignment(t % 15); },
        [](int t) { sink = sink + (uint64_t)catches(t % 12); },
        [](int) { sink = sink + (uint64_t)sorts(); },
        [](int) { sink = sink + asks_the_time(); },
        [](int) { allocates(); },
        [](int t) {
            descend(1 + t % 60, [](int depth) {
                burn(100);
                return depth;
            });
        },
        [](int) { usleep(100); },
    };
    kinds[(size_t)turn % kinds.size()](turn / (int)kinds.size());
}

KEEP void mixed_thread(int first)
{
    for (int turn = first; always; turn++)
        mixed_turn(turn);
}

KEEP void on_timer(int)
{
    burn(3000);
}

KEEP void on_signal_for_ever(int)
{
    spin_for_ever();
    sink = sink + 1;
}

[[noreturn]] KEEP void never_returns()
{
    spin_for_ever();
    abort();
}

/* The call is its last instruction: the return address lies in what follows it. */
KEEP void ends_with_a_call()
{
    never_returns();
}

KEEP void raises()
{
    raise(SIGUSR1);
    sink = sink + 1;
}

/* Code of which no .eh_frame tells. */
asm(".text\n.type stackless_loop, @function\nstackless_loop:\n1: pause\njmp 1b\n"
    ".size stackless_loop, .-stackless_loop\n");
extern "C" void stackless_loop();

KEEP void runs_made_code()
{
    static const unsigned char loop[] = {0xf3, 0x90, 0xeb, 0xfc}; /* pause; jmp back to it */
    void *code =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(77);
    memcpy(code, loop, sizeof(loop));
    reinterpret_cast<void (*)()>(code)();
}

static void on_signal(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, nullptr);
}

static void run_mixed()
{
    on_signal(SIGPROF, on_timer, SA_RESTART);
    itimerval timer = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_PROF, &timer, nullptr);
    for (int i = 0; i < 3; i++)
        std::thread(mixed_thread, i).detach();
}

static void run_on_other_stack()
{
    static char memory[65536];
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = sizeof(memory);
    sigaltstack(&stack, nullptr);
    on_signal(SIGUSR1, on_signal_for_ever, SA_ONSTACK);
    raises();
}

static void run_library(const char *file)
{
    void *library = dlopen(file, RTLD_NOW);
    if (!library)
        exit(1);
    unlink(file);
    reinterpret_cast<void (*)(void (*)())>(dlsym(library, "in_library"))(spin_for_ever);
}

KEEP void run_mode(const char *mode, const char *file)
{
    if (strcmp(mode, "known") == 0)
        descend(100, known_bottom);
    else if (strcmp(mode, "noreturn") == 0)
        ends_with_a_call();
    else if (strcmp(mode, "signal") == 0) {
        on_signal(SIGUSR1, on_signal_for_ever, 0);
        raises();
    } else if (strcmp(mode, "altstack") == 0)
        run_on_other_stack();
    else if (strcmp(mode, "jit") == 0)
        runs_made_code();
    else if (strcmp(mode, "stackless") == 0)
        stackless_loop();
    else if (strcmp(mode, "library") == 0)
        run_library(file);
    else if (strcmp(mode, "mixed") == 0)
        run_mixed();
    else
        usage();
    sink = sink + 1;
}

static void *mode_thread(void *arguments)
{
    char **argv = static_cast<char **>(arguments);
    run_mode(argv[1], argv[2]);
    return nullptr;
}

int main(int argc, char **argv)
{
    char byte;
    pthread_t thread;
    if (argc < 2)
        usage();
    puts("ready");
    fflush(stdout);
    /* the library is loaded when a byte comes */
    if (strcmp(argv[1], "library") == 0 && read(STDIN_FILENO, &byte, 1) != 1)
        return 1;
    if (pthread_create(&thread, nullptr, mode_thread, argv) != 0)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    _exit(0);
}
