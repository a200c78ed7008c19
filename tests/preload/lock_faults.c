/* SPDX-License-Identifier: MIT */
/*
 * lock_faults JOB: what a wrapper of locks can do wrong. Each job knows what must come out with
 * libc alone, and exits with 0 when it does. A job that hangs is ended by its alarm.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

enum { ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_bool stop;
static uint64_t count; /* under the mutex */

static pthread_mutex_t make_mutex(int type, int robust)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t made;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    CHECK(pthread_mutex_init(&made, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
    return made;
}

/* --- before any constructor of a library's --- */

static int early_result = -1;

static void lock_early(int argc, char **argv, char **environment)
{
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec past = {0};

    (void)argc;
    (void)argv;
    (void)environment;
    early_result = pthread_mutex_lock(&mutex);
    early_result |= pthread_cond_timedwait(&condition, &mutex, &past) != ETIMEDOUT;
    early_result |= pthread_mutex_timedlock(&other, &past) || pthread_mutex_unlock(&other);
    early_result |= pthread_cond_signal(&condition);
    early_result |= pthread_mutex_unlock(&mutex);
    early_result |= pthread_rwlock_wrlock(&rwlock) || pthread_rwlock_unlock(&rwlock);
}

__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **,
                                                                      char **) = lock_early;

static void early(void)
{
    CHECK(early_result == 0);
}

/* --- an allocator with a lock of the program's own: dlsym and everything else comes by here --- */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size)
{
    pthread_mutex_lock(&allocator);
    void *memory = __libc_malloc(size);
    pthread_mutex_unlock(&allocator);
    return memory;
}

void *calloc(size_t number, size_t size)
{
    pthread_mutex_lock(&allocator);
    void *memory = __libc_calloc(number, size);
    pthread_mutex_unlock(&allocator);
    return memory;
}

void *realloc(void *old, size_t size)
{
    pthread_mutex_lock(&allocator);
    void *memory = __libc_realloc(old, size);
    pthread_mutex_unlock(&allocator);
    return memory;
}

void free(void *memory)
{
    pthread_mutex_lock(&allocator);
    __libc_free(memory);
    pthread_mutex_unlock(&allocator);
}

static void *allocate(void *argument)
{
    for (int i = 0; i < 20 * ROUNDS; i++)
        free(malloc((size_t)i % 5000 + 1));
    return argument;
}

static void *contend(void *argument)
{
    for (uint64_t i = 0; i < ROUNDS && !atomic_load(&stop); i++) {
        CHECK(pthread_mutex_lock(&mutex) == 0);
        count++;
        if (i % 100 == 0)
            usleep(30);
        CHECK(pthread_mutex_unlock(&mutex) == 0);
    }
    return argument;
}

enum { THREADS = 4 };

static void start(pthread_t *threads, void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
}

static void join(const pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void allocators(void)
{
    pthread_t threads[THREADS];

    start(threads, allocate);
    join(threads);
}

/* --- kinds of mutexes that refuse --- */

static void *take_and_die(void *lock)
{
    CHECK(pthread_mutex_lock(lock) == 0);
    return NULL;
}

static void *ask(void *lock)
{
    return (void *)(intptr_t)pthread_mutex_lock(lock);
}

static void kinds(void)
{
    pthread_mutex_t recursive = make_mutex(PTHREAD_MUTEX_RECURSIVE, 0);
    pthread_mutex_t checked = make_mutex(PTHREAD_MUTEX_ERRORCHECK, 0);
    pthread_mutex_t robust = make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec past = {0}, nonsense = {.tv_nsec = 1000000000};
    pthread_t thread;
    void *result;

    for (int i = 0; i < 5; i++)
        CHECK(pthread_mutex_lock(&recursive) == 0);
    for (int i = 0; i < 5; i++)
        CHECK(pthread_mutex_unlock(&recursive) == 0);
    CHECK(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
    CHECK(pthread_mutex_trylock(&checked) == EBUSY);
    CHECK(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == EPERM);
    CHECK(pthread_mutex_timedlock(&checked, &nonsense) == 0); /* free: the limit is not looked at */
    CHECK(pthread_create(&thread, NULL, take_and_die, &robust) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&robust) == 0 && pthread_mutex_unlock(&robust) == 0);
    CHECK(pthread_create(&thread, NULL, take_and_die, &robust) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_unlock(&robust) == 0);
    CHECK(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_timedlock(&mutex, &nonsense) == EINVAL);
    CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_wrlock(&rwlock) == EDEADLK);
    CHECK(pthread_rwlock_rdlock(&rwlock) == EDEADLK && pthread_rwlock_unlock(&rwlock) == 0);
    /* a waiter at a robust mutex whose owner dies meanwhile */
    robust = make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(pthread_mutex_lock(&robust) == 0);
        CHECK(pthread_create(&thread, NULL, ask, &robust) == 0);
        usleep(20000);
        CHECK(pthread_mutex_unlock(&robust) == 0);
        CHECK(pthread_join(thread, &result) == 0);
        _exit((int)(intptr_t)result);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* --- forks while others wait and tell --- */

static void forks(void)
{
    pthread_t threads[THREADS];

    start(threads, contend);
    for (int i = 0; i < 20; i++) {
        /* as a program must that forks with threads: the locks are ours */
        CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&allocator) == 0);
        pid_t child = fork();
        CHECK(pthread_mutex_unlock(&allocator) == 0 && pthread_mutex_unlock(&mutex) == 0);
        CHECK(child >= 0);
        if (child == 0) {
            pthread_t ours[THREADS];
            alarm(150);
            start(ours, contend);
            join(ours);
            _exit(0);
        }
        int status = 1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    join(threads);
}

/* --- a signal handler that waits for a lock, at any time, on a small stack of its own --- */

static atomic_int handled;

static void handle(int number)
{
    (void)number;
    int errno_before = errno;
    CHECK(pthread_mutex_lock(&other) == 0 && pthread_mutex_unlock(&other) == 0);
    atomic_fetch_add(&handled, 1);
    errno = errno_before;
}

static void *contend_otherwise(void *argument)
{
    while (!atomic_load(&stop)) {
        pthread_mutex_lock(&other);
        usleep(20);
        pthread_mutex_unlock(&other);
    }
    return argument;
}

static void *contend_interrupted(void *argument)
{
    static char small[THREADS][16384];
    static atomic_int next;
    stack_t stack = {.ss_sp = small[atomic_fetch_add(&next, 1)], .ss_size = sizeof(small[0])};

    CHECK(sigaltstack(&stack, NULL) == 0);
    while (!atomic_load(&stop)) {
        errno = 4711;
        CHECK(pthread_mutex_lock(&mutex) == 0);
        CHECK(errno == 4711);
        CHECK(pthread_mutex_unlock(&mutex) == 0 && errno == 4711);
    }
    return argument;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
    pthread_t threads[THREADS], holder;

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(pthread_create(&holder, NULL, contend_otherwise, NULL) == 0);
    start(threads, contend_interrupted);
    // a signal that comes while one is pending is lost: on a busy machine that is most of them
    for (int i = 0; i < 3000 || atomic_load(&handled) <= 100; i++) {
        CHECK(pthread_kill(threads[i % THREADS], SIGUSR1) == 0);
        usleep(50);
    }
    atomic_store(&stop, true);
    join(threads);
    CHECK(pthread_join(holder, NULL) == 0);
}

/* --- a thread that is cancelled in a wait --- */

static void unlock(void *lock)
{
    CHECK(pthread_mutex_unlock(lock) == 0);
}

static void *wait_for_ever(void *argument)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return argument;
}

static void cancels(void)
{
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
        if (i % 2)
            usleep(100);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
        CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    }
}

/* --- condition variables as they were before glibc 2.3.2: one pointer --- */

#ifdef __x86_64__
struct old_condition {
    void *hidden;
};
extern int old_signal(struct old_condition *);
extern int old_wait(struct old_condition *, pthread_mutex_t *);
__asm__(".symver old_signal,pthread_cond_signal@GLIBC_2.2.5\n"
        ".symver old_wait,pthread_cond_wait@GLIBC_2.2.5");

static struct {
    struct old_condition condition;
    uint64_t behind[8];
} old;
static bool old_ready;

static void *wake_old(void *argument)
{
    usleep(1000);
    pthread_mutex_lock(&mutex);
    old_ready = true;
    old_signal(&old.condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void conditions(void)
{
    memset(old.behind, 0xab, sizeof(old.behind));
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, wake_old, NULL) == 0);
        pthread_mutex_lock(&mutex);
        while (!old_ready)
            old_wait(&old.condition, &mutex);
        old_ready = false;
        pthread_mutex_unlock(&mutex);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    for (int i = 0; i < 8; i++)
        CHECK(old.behind[i] == 0xababababababababu);
}
#else
static void conditions(void)
{
}
#endif

/* --- libraries come and go meanwhile; stacks as small as may be --- */

static void *load(void *argument)
{
    while (!atomic_load(&stop)) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        CHECK(library && dlsym(library, "cos"));
        dlclose(library);
        library = dlopen("libresolv.so.2", RTLD_LAZY);
        if (library)
            dlclose(library);
    }
    return argument;
}

static void loading(void)
{
    pthread_t threads[THREADS], loader;

    CHECK(pthread_create(&loader, NULL, load, NULL) == 0);
    start(threads, contend);
    join(threads);
    atomic_store(&stop, true);
    CHECK(pthread_join(loader, NULL) == 0);
}

static void small_stacks(void)
{
    pthread_attr_t attributes;
    pthread_t threads[THREADS];

    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], &attributes, contend, NULL) == 0);
    join(threads);
    CHECK(count == (uint64_t)THREADS * ROUNDS);
    pthread_attr_destroy(&attributes);
}

/* --- the program ends while its threads wait and tell --- */

static void ends(void)
{
    pthread_t threads[THREADS];

    start(threads, contend_otherwise);
    usleep(20000);
    exit(0);
}

/* --- more locks than there is room for --- */

enum { MANY = 20000 };
static pthread_mutex_t *many;

static void *take_many(void *argument)
{
    for (int i = 0; i < MANY; i++) {
        pthread_mutex_lock(&many[i]);
        if (i % 16 == 0)
            sched_yield();
        pthread_mutex_unlock(&many[i]);
    }
    return argument;
}

static void many_locks(void)
{
    pthread_t threads[THREADS];

    many = calloc(MANY, sizeof(*many));
    CHECK(many);
    start(threads, take_many);
    join(threads);
    free(many);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } jobs[] = {{"early", early},
                {"allocators", allocators},
                {"kinds", kinds},
                {"forks", forks},
                {"signals", signals},
                {"cancels", cancels},
                {"conditions", conditions},
                {"loading", loading},
                {"small_stacks", small_stacks},
                {"ends", ends},
                {"many_locks", many_locks}};

    alarm(160); /* of a machine that is busy with much else */
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if (argc == 2 && strcmp(argv[1], jobs[i].name) == 0) {
            jobs[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: lock_faults JOB\n");
    return 2;
}
