/* SPDX-License-Identifier: MIT */
/*
 * known-locks KIND [hold-us [seconds [threads]]]: threads that take one lock of the kind and know
 * all about it: who has it, how long they waited, how long it was held. After "pid N", it waits for
 * a line on the standard input, works, and prints what it knows, a line a contended acquisition:
 *
 *   know tid OWN begin NS end NS ran NS hold NS lock N
 *
 * `begin` is 0 where nobody had it; `ran` is how much of the wait it spent on a CPU: spinning, in
 * the C library or, as for a priority-inheriting mutex, in the kernel. `hold` is how long this
 * thread then had it; `lock` which of them it was, the addresses being printed after "lock".
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_KNOWN   500000

struct known {
    uint64_t begin_ns, end_ns, ran_ns, hold_ns;
    uint32_t lock;
};

struct worker {
    pthread_t thread;
    uint32_t tid;
    unsigned number;
    unsigned turn;
    size_t count;
    struct known *known;
};

struct lock_kind {
    const char *name;
    void (*set_up)(void);
    bool (*try_lock)(struct worker *worker);
    void (*lock)(struct worker *worker);
    void (*unlock)(struct worker *worker);
};

#define MAX_LOCKS 6
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutexes[MAX_LOCKS]; /* held for longer and longer */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static unsigned locks = 1;
static uint64_t hold_ns, until_ns;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void spin(uint64_t ns)
{
    uint64_t until = now_ns() + ns;
    while (now_ns() < until)
        ;
}

static void set_up_mutex(int type, int protocol, int robust, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setpshared(&attributes, shared);
    if (pthread_mutex_init(&mutex, &attributes))
        exit(1);
}

static void set_up_plain(void)
{
    set_up_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_recursive(void)
{
    set_up_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_errorcheck(void)
{
    set_up_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_adaptive(void)
{
    set_up_mutex(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_pi(void)
{
    set_up_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_robust(void)
{
    set_up_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
                 PTHREAD_PROCESS_PRIVATE);
}

static void set_up_shared(void)
{
    set_up_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                 PTHREAD_PROCESS_SHARED);
}

static void set_up_rwlock(void)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&rwlock, &attributes);
}

static void set_up_semaphore(void)
{
    sem_init(&semaphore, 0, 1);
}

static bool try_mutex(struct worker *worker)
{
    (void)worker;
    return pthread_mutex_trylock(&mutex) == 0;
}

static void lock_mutex(struct worker *worker)
{
    (void)worker;
    pthread_mutex_lock(&mutex);
}

static void lock_timed(struct worker *worker)
{
    (void)worker;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 100;
    pthread_mutex_timedlock(&mutex, &limit);
}

static void unlock_mutex(struct worker *worker)
{
    (void)worker;
    pthread_mutex_unlock(&mutex);
}

static unsigned which(const struct worker *worker)
{
    return worker->turn % locks;
}

static void set_up_many(void)
{
    locks = MAX_LOCKS;
    for (int i = 0; i < MAX_LOCKS; i++)
        pthread_mutex_init(&mutexes[i], NULL);
}

static bool try_many(struct worker *worker)
{
    return pthread_mutex_trylock(&mutexes[which(worker)]) == 0;
}

static void lock_many(struct worker *worker)
{
    pthread_mutex_lock(&mutexes[which(worker)]);
}

static void unlock_many(struct worker *worker)
{
    pthread_mutex_unlock(&mutexes[which(worker)]);
}

static bool try_write(struct worker *worker)
{
    (void)worker;
    return pthread_rwlock_trywrlock(&rwlock) == 0;
}

static void lock_write(struct worker *worker)
{
    (void)worker;
    pthread_rwlock_wrlock(&rwlock);
}

/* Only the first thread writes: then all others' waits are for it. */
static bool try_read(struct worker *worker)
{
    return worker->number == 0 ? pthread_rwlock_trywrlock(&rwlock) == 0
                               : pthread_rwlock_tryrdlock(&rwlock) == 0;
}

static void lock_read(struct worker *worker)
{
    if (worker->number == 0)
        pthread_rwlock_wrlock(&rwlock);
    else
        pthread_rwlock_rdlock(&rwlock);
}

static void unlock_rwlock(struct worker *worker)
{
    (void)worker;
    pthread_rwlock_unlock(&rwlock);
}

static bool try_semaphore(struct worker *worker)
{
    (void)worker;
    return sem_trywait(&semaphore) == 0;
}

static void lock_semaphore(struct worker *worker)
{
    (void)worker;
    sem_wait(&semaphore);
}

static void unlock_semaphore(struct worker *worker)
{
    (void)worker;
    sem_post(&semaphore);
}

static const struct lock_kind kinds[] = {
    {"mutex", set_up_plain, try_mutex, lock_mutex, unlock_mutex},
    {"recursive", set_up_recursive, try_mutex, lock_mutex, unlock_mutex},
    {"errorcheck", set_up_errorcheck, try_mutex, lock_mutex, unlock_mutex},
    {"adaptive", set_up_adaptive, try_mutex, lock_mutex, unlock_mutex},
    {"mutex_pi", set_up_pi, try_mutex, lock_mutex, unlock_mutex},
    {"robust", set_up_robust, try_mutex, lock_mutex, unlock_mutex},
    {"shared", set_up_shared, try_mutex, lock_mutex, unlock_mutex},
    {"mutex_timed", set_up_plain, try_mutex, lock_timed, unlock_mutex},
    {"rwlock_write", set_up_rwlock, try_write, lock_write, unlock_rwlock},
    {"rwlock_read", set_up_rwlock, try_read, lock_read, unlock_rwlock},
    {"semaphore", set_up_semaphore, try_semaphore, lock_semaphore, unlock_semaphore},
    {"many", set_up_many, try_many, lock_many, unlock_many},
};
static const struct lock_kind *kind;

/* One turn: takes the lock, has it for a while, gives it back. */
static void take_turn(struct worker *worker)
{
    struct known known = {.lock = which(worker)};
    if (!kind->try_lock(worker)) {
        uint64_t ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        known.begin_ns = now_ns();
        kind->lock(worker);
        known.end_ns = now_ns();
        known.ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_ns;
    } else {
        known.end_ns = now_ns();
    }
    spin(hold_ns << (locks > 1 ? known.lock : 0));
    known.hold_ns = now_ns() - known.end_ns;
    kind->unlock(worker);
    if (worker->count < MAX_KNOWN)
        worker->known[worker->count++] = known;
    worker->turn++;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->tid = (uint32_t)gettid();
    while (now_ns() < until_ns) {
        take_turn(worker);
        spin(hold_ns / 4 + 200 * (worker->number % 7));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[MAX_THREADS] = {0};
    double seconds = argc > 3 ? atof(argv[3]) : 1;
    unsigned threads = argc > 4 ? (unsigned)atoi(argv[4]) : 3;
    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kind = &kinds[i];
    if (!kind || threads > MAX_THREADS)
        return 2;
    hold_ns = (uint64_t)((argc > 2 ? atof(argv[2]) : 100) * 1e3);
    kind->set_up();
    printf("pid %d\nlock", getpid());
    if (kind->unlock == unlock_many)
        for (int i = 0; i < MAX_LOCKS; i++)
            printf(" %p", (void *)&mutexes[i]);
    else
        printf(" %p", kind->unlock == unlock_mutex    ? (void *)&mutex
                      : kind->unlock == unlock_rwlock ? (void *)&rwlock
                                                      : (void *)&semaphore);
    printf("\n");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    until_ns = now_ns() + (uint64_t)(seconds * 1e9);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].number = workers[i].turn = i;
        workers[i].known = calloc(MAX_KNOWN, sizeof(struct known));
        if (!workers[i].known || pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < threads; i++)
        for (size_t j = 0; j < workers[i].count; j++) {
            const struct known *known = &workers[i].known[j];
            printf("know tid %u begin %" PRIu64 " end %" PRIu64 " ran %" PRIu64 " hold %" PRIu64
                   " lock %u\n",
                   workers[i].tid, known->begin_ns, known->end_ns, known->ran_ns, known->hold_ns,
                   known->lock);
        }
    printf("done\n");
    fflush(stdout);
    getchar();
    return 0;
}
