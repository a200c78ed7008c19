/* SPDX-License-Identifier: MIT */
/*
 * lock_truth handshake|stress: waits at locks and knows the truth about them, by readings of the
 * clock of its own. Prints one line each:
 *
 *     wait KIND LOCK WAITER OWNER LEAST_NS MOST_NS HOLD_NS BEGIN_NS
 *
 * In a handshake the owner has the lock, sees the waiter asleep at it, holds it a while and gives
 * it back: each wait is known. Under stress threads meet as they may; the locks' own logs follow:
 *
 *     held LOCK OWNER FROM_NS TO_NS
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

uint64_t now_ns()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

int thread_id()
{
    return static_cast<int>(syscall(SYS_gettid));
}

/* Whether the thread sleeps, by the kernel's word. */
bool sleeps(int tid)
{
    char path[64];
    char text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "re");
    if (!file)
        exit(3);
    size_t got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    const char *behind = got ? strrchr(text, ')') : nullptr;
    return behind && behind[2] == 'S';
}

void busy(uint64_t ns)
{
    for (uint64_t until = now_ns() + ns; now_ns() < until;)
        ;
}

/* A lock of some kind, as the owner and the waiter use it. */
struct Kind {
    const char *name;
    void *lock;
    std::function<void()> take, give; /* the owner's */
    std::function<void()> ask, leave; /* the waiter's */
};

constexpr int ROUNDS = 20;
constexpr uint64_t HOLDS[] = {20000, 200000, 2000000, 10000000};

void handshake(const Kind &kind, uint64_t hold)
{
    std::atomic<int> waiter{0};
    std::atomic<int> had{0}, gone{0};
    uint64_t begin = 0, end = 0;
    std::thread thread([&] {
        for (int i = 1; i <= ROUNDS; i++) {
            while (had.load() < i)
                usleep(20);
            waiter = thread_id();
            begin = now_ns();
            kind.ask();
            end = now_ns();
            kind.leave();
            gone = i;
        }
    });
    for (int i = 1; i <= ROUNDS; i++) {
        waiter = 0;
        kind.take();
        uint64_t began = now_ns();
        had = i;
        while (waiter.load() == 0)
            ;
        while (!sleeps(waiter.load()))
            ;
        busy(hold);
        uint64_t ended = now_ns();
        kind.give();
        while (gone.load() < i)
            usleep(20);
        printf("wait %s %p %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " 0\n", kind.name, kind.lock,
               waiter.load(), thread_id(), ended - begin, end - begin, ended - began);
    }
    thread.join();
}

pthread_mutex_t make_mutex(int type, int protocol, int robust)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return mutex;
}

Kind of_mutex(const char *name, pthread_mutex_t *mutex)
{
    auto take = [mutex] { pthread_mutex_lock(mutex); };
    auto give = [mutex] { pthread_mutex_unlock(mutex); };
    return {name, mutex, take, give, take, give};
}

void handshakes()
{
    static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t recursive = make_mutex(PTHREAD_MUTEX_RECURSIVE, 0, 0);
    static pthread_mutex_t checked = make_mutex(PTHREAD_MUTEX_ERRORCHECK, 0, 0);
    static pthread_mutex_t robust = make_mutex(PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST);
    static pthread_mutex_t inherits = make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
    static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER;
    static pthread_rwlock_t read_side = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t write_side = PTHREAD_RWLOCK_INITIALIZER;
    static std::mutex cxx;
    static std::shared_mutex shared;
    static std::mutex behind;
    static std::condition_variable changed;
    static bool ready;

    Kind twice = of_mutex("mutex", &recursive);
    twice.take = [] {
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        pthread_mutex_unlock(&recursive);
    };
    Kind limited = of_mutex("mutex_timed", &timed);
    limited.ask = [] {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        pthread_mutex_timedlock(&timed, &until);
    };
    auto write_to = [](pthread_rwlock_t *lock) { return [lock] { pthread_rwlock_wrlock(lock); }; };
    auto unlock = [](pthread_rwlock_t *lock) { return [lock] { pthread_rwlock_unlock(lock); }; };
    const Kind kinds[] = {
        of_mutex("mutex", &normal),
        twice,
        of_mutex("mutex", &checked),
        of_mutex("mutex_shared", &robust),
        of_mutex("mutex_pi", &inherits),
        limited,
        {"rwlock_read", &read_side, write_to(&read_side), unlock(&read_side),
         [] { pthread_rwlock_rdlock(&read_side); }, unlock(&read_side)},
        {"rwlock_write", &write_side, write_to(&write_side), unlock(&write_side),
         write_to(&write_side), unlock(&write_side)},
        {"mutex", cxx.native_handle(), [] { cxx.lock(); }, [] { cxx.unlock(); }, [] { cxx.lock(); },
         [] { cxx.unlock(); }},
        /* its only member, in libstdc++ as in libc++ */
        {"rwlock_read", &shared, [] { shared.lock(); }, [] { shared.unlock(); },
         [] { shared.lock_shared(); }, [] { shared.unlock_shared(); }},
        /* the owner is who wakes; nobody has the condition */
        {"condvar", changed.native_handle(), [] { ready = false; },
         [] {
             std::lock_guard<std::mutex> guard(behind);
             ready = true;
             changed.notify_one();
         },
         [] {
             std::unique_lock<std::mutex> guard(behind);
             changed.wait(guard, [] { return ready; });
         },
         [] {}},
    };
    for (uint64_t hold : HOLDS)
        for (const Kind &kind : kinds)
            handshake(kind, hold);
}

/* --- stress --- */

constexpr int THREADS = 8, ACQUISITIONS = 1000;

struct Held {
    int tid;
    uint64_t from, to;
};

struct Contended {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint64_t hold;
    std::vector<Held> log; /* under the mutex */
};

struct Asked {
    size_t lock;
    int tid;
    uint64_t begin, end;
};

void stress()
{
    std::vector<Contended> locks(3);
    uint64_t hold = 30000;
    for (Contended &lock : locks) {
        lock.hold = hold;
        lock.log.reserve(THREADS * ACQUISITIONS);
        hold *= 2;
    }
    std::vector<std::vector<Asked>> asked(THREADS);
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back([&, number] {
            unsigned dice = static_cast<unsigned>(number) + 1;
            int tid = thread_id();
            for (int i = 0; i < ACQUISITIONS; i++) {
                size_t which = static_cast<size_t>(rand_r(&dice)) % locks.size();
                Contended &lock = locks[which];
                uint64_t begin = now_ns();
                pthread_mutex_lock(&lock.mutex);
                uint64_t from = now_ns();
                usleep(static_cast<useconds_t>(lock.hold / 1000));
                lock.log.push_back({tid, from, now_ns()});
                pthread_mutex_unlock(&lock.mutex);
                asked[static_cast<size_t>(number)].push_back({which, tid, begin, from});
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const auto &one : asked)
        for (const Asked &wait : one)
            printf("wait mutex %p %d 0 0 %" PRIu64 " 0 %" PRIu64 "\n",
                   static_cast<void *>(&locks[wait.lock].mutex), wait.tid, wait.end - wait.begin,
                   wait.begin);
    for (const Contended &lock : locks)
        for (const Held &held : lock.log)
            printf("held %p %d %" PRIu64 " %" PRIu64 "\n", static_cast<const void *>(&lock.mutex),
                   held.tid, held.from, held.to);
}

} // namespace

int main(int argc, char **argv)
{
    std::string job = argc > 1 ? argv[1] : "";
    if (job == "handshake")
        handshakes();
    else if (job == "stress")
        stress();
    else
        return 2;
    return fflush(stdout) ? 1 : 0;
}
