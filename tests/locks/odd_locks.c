/* SPDX-License-Identifier: MIT */
/*
 * odd-locks CASE: a program in which one odd thing happens at a lock. After "pid N" it waits for a
 * line on the standard input, does it, says by lines "NAME VALUE" what is true of it, and "done".
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "until_asleep.h"

#define MS 1000000ull

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *mutex = &first;
static _Atomic uint32_t owner, waiter;

static void sleep_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000 * MS)};
    nanosleep(&time, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static pthread_t start(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument))
        exit(1);
    return thread;
}

static void *take_mutex(void *argument)
{
    waiter = (uint32_t)gettid();
    int result = pthread_mutex_lock(argument ? argument : mutex);
    if (result == EOWNERDEAD)
        pthread_mutex_consistent(mutex);
    pthread_mutex_unlock(argument ? argument : mutex);
    return NULL;
}

/* Someone waits for the mutex that the caller has. */
static pthread_t start_waiter(void)
{
    waiter = 0;
    pthread_t thread = start(take_mutex, NULL);
    while (!waiter)
        sched_yield();
    until_asleep(waiter, "SD");
    return thread;
}

static void say(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
}

static void have_it_while(void (*work)(void))
{
    pthread_mutex_lock(mutex);
    pthread_t thread = start_waiter();
    work();
    pthread_mutex_unlock(mutex);
    pthread_join(thread, NULL);
    say("owner", (uint64_t)gettid());
    say("lock", (uint64_t)(uintptr_t)mutex);
}

static void compute(void)
{
    for (uint64_t until = now_ns() + 40 * MS; now_ns() < until;)
        ;
}

static void sleep_a_while(void)
{
    sleep_ms(40);
}

/* Who calls vfork sleeps uninterruptibly until its child is gone. */
static void wait_like_a_disk(void)
{
    static const struct timespec time = {.tv_nsec = 40 * (long)MS};
    pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): for its wait
    if (child == 0) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): changes nothing of its parent's */
        nanosleep(&time, NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void fork_a_child(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    sleep_ms(5);
}

static void *take_mutex_and_compute(void *argument)
{
    (void)argument;
    waiter = (uint32_t)gettid();
    pthread_mutex_lock(mutex);
    compute();
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* The lock goes to one waiter, while another goes on waiting, and its first owner goes to sleep. */
static void case_handed(void)
{
    pthread_mutex_lock(mutex);
    waiter = 0;
    pthread_t next = start(take_mutex_and_compute, NULL);
    while (!waiter)
        sched_yield();
    until_asleep(waiter, "SD");
    pthread_t last = start_waiter();
    compute();
    pthread_mutex_unlock(mutex);
    pthread_join(next, NULL);
    pthread_join(last, NULL);
    say("owner", (uint64_t)gettid());
    say("lock", (uint64_t)(uintptr_t)mutex);
}

static void case_running(void)
{
    have_it_while(compute);
}

static void case_asleep(void)
{
    have_it_while(sleep_a_while);
}

static void case_disk(void)
{
    have_it_while(wait_like_a_disk);
}

static void case_fork(void)
{
    have_it_while(fork_a_child);
}

/* Has the first lock and waits for the second one. */
static void *take_both(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&first);
    owner = (uint32_t)gettid();
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return NULL;
}

static void case_chain(void)
{
    pthread_mutex_lock(&second);
    pthread_t middle = start(take_both, NULL);
    while (!owner)
        sched_yield();
    until_asleep(owner, "SD");
    pthread_t last = start_waiter();
    sleep_ms(40);
    pthread_mutex_unlock(&second);
    pthread_join(middle, NULL);
    pthread_join(last, NULL);
    say("owner", owner);
    say("lock", (uint64_t)(uintptr_t)&first);
    say("other", (uint64_t)(uintptr_t)&second);
}

static void *take_and_die(void *argument)
{
    (void)argument;
    pthread_mutex_lock(mutex);
    owner = (uint32_t)gettid();
    while (!waiter)
        sched_yield();
    until_asleep(waiter, "SD");
    return NULL;
}

/* A robust mutex: the waiter gets it, and is told. */
static void case_robust(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    pthread_t thread = start(take_and_die, NULL);
    while (!owner)
        sched_yield();
    pthread_t other = start(take_mutex, NULL);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
    say("owner", owner);
    say("lock", (uint64_t)(uintptr_t)mutex);
}

static void *take_and_leave(void *argument)
{
    (void)argument;
    pthread_mutex_lock(mutex);
    owner = (uint32_t)gettid();
    return NULL;
}

/* An owner that ended with the lock: its waiter waits for ever. */
static void case_gone(void)
{
    pthread_join(start(take_and_leave, NULL), NULL);
    start_waiter();
    say("owner", owner);
    say("lock", (uint64_t)(uintptr_t)mutex);
}

static void *take_for_a_while(void *argument)
{
    struct timespec limit;
    (void)argument;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 20 * (long)MS;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(mutex, &limit) != ETIMEDOUT)
        exit(1);
    return NULL;
}

static void case_timed(void)
{
    pthread_mutex_lock(mutex);
    pthread_join(start(take_for_a_while, NULL), NULL);
    pthread_mutex_unlock(mutex);
    say("owner", (uint64_t)gettid());
    say("lock", (uint64_t)(uintptr_t)mutex);
}

static void *wait_for_semaphore(void *semaphore)
{
    sem_wait(semaphore);
    return NULL;
}

/* The lock's memory goes away while somebody waits for it, and comes back as another lock. */
static void case_freed(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mutex = page;
    pthread_mutex_init(mutex, NULL);
    pthread_mutex_lock(mutex);
    pthread_t thread = start_waiter();
    munmap(page, 4096);
    if (mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
        page)
        exit(1);
    syscall(SYS_futex, page, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
    say("lock", (uint64_t)(uintptr_t)page);
    sem_t *semaphore = page;
    sem_init(semaphore, 0, 0);
    pthread_t other = start(wait_for_semaphore, semaphore);
    sleep_ms(20);
    sem_post(semaphore);
    pthread_join(other, NULL);
}

/* Code that no file has: it waits at a word by a system call of its own. */
static void case_jit(void)
{
    static const uint8_t code[] = {0xb8, 0xca, 0,    0, 0, /* mov $202,%eax: futex */
                                   0x31, 0xf6,             /* xor %esi,%esi: FUTEX_WAIT */
                                   0xba, 2,    0,    0, 0, /* mov $2,%edx */
                                   0x4d, 0x31, 0xd2,       /* xor %r10,%r10 */
                                   0x0f, 0x05,             /* syscall */
                                   0xc3};                  /* ret */
    static uint32_t word = 2;
    void *(*wait)(void *);
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof(code));
    memcpy(&wait, &page, sizeof(page));
    pthread_t thread = start(wait, &word);
    sleep_ms(20);
    while (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0)
        sched_yield();
    pthread_join(thread, NULL);
    say("lock", (uint64_t)(uintptr_t)&word);
}

static void handle(int signal)
{
    (void)signal;
    waiter = (uint32_t)gettid();
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}

/* Waits for a lock on another stack than its own. */
static void *be_interrupted(void *argument)
{
    (void)argument;
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    owner = (uint32_t)gettid();
    raise(SIGUSR1);
    return NULL;
}

static void case_signal(void)
{
    pthread_mutex_lock(mutex);
    pthread_t thread = start(be_interrupted, NULL);
    while (!waiter)
        sched_yield();
    until_asleep(waiter, "SD");
    sleep_ms(10);
    pthread_mutex_unlock(mutex);
    pthread_join(thread, NULL);
    say("lock", (uint64_t)(uintptr_t)mutex);
}

#define CROWD 4
static _Atomic bool enough;

static void crowd(void *(*function)(void *))
{
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        threads[i] = start(function, NULL);
    sleep_ms(400);
    enough = true;
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
}

static void *allocate(void *argument)
{
    void *held[64];
    (void)argument;
    while (!enough) {
        for (int i = 0; i < 64; i++)
            held[i] = malloc(4096 + (size_t)i * 512);
        for (int i = 0; i < 64; i++)
            free(held[i]);
    }
    return NULL;
}

/* Everybody allocates from one arena. */
static void case_allocator(void)
{
    mallopt(M_ARENA_MAX, 1);
    crowd(allocate);
}

static FILE *sink;

static void *print(void *argument)
{
    (void)argument;
    while (!enough)
        fprintf(sink, "%d %d %d %s\n", 1, 2, 3, "and a few words");
    return NULL;
}

/* Everybody prints to one stream. */
static void case_stdio(void)
{
    sink = fopen("/dev/null", "we");
    crowd(print);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *begin_once(void *argument)
{
    (void)argument;
    pthread_once(&once, sleep_a_while);
    return NULL;
}

static void case_once(void)
{
    crowd(begin_once);
    say("lock", (uint64_t)(uintptr_t)&once);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *be_idle(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&second);
    while (!enough)
        pthread_cond_wait(&condition, &second);
    pthread_mutex_unlock(&second);
    return NULL;
}

/* Workers that have nothing to do. */
static void case_idle(void)
{
    pthread_t threads[CROWD];
    for (int i = 0; i < CROWD; i++)
        threads[i] = start(be_idle, NULL);
    for (int i = 0; i < 200; i++) {
        sleep_ms(1);
        pthread_cond_broadcast(&condition);
    }
    pthread_mutex_lock(&second);
    enough = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&second);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    say("lock", (uint64_t)(uintptr_t)&condition);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"running", case_running},     {"handed", case_handed}, {"asleep", case_asleep},
    {"disk", case_disk},           {"fork", case_fork},     {"chain", case_chain},
    {"robust", case_robust},       {"gone", case_gone},     {"timed", case_timed},
    {"freed", case_freed},         {"jit", case_jit},       {"signal", case_signal},
    {"allocator", case_allocator}, {"stdio", case_stdio},   {"once", case_once},
    {"idle", case_idle},
};

int main(int argc, char **argv)
{
    printf("pid %d\n", getpid());
    fflush(stdout);
    if (argc < 2 || getchar() == EOF)
        return 2;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    printf("done\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    fflush(stdout);
    _exit(0);
}
