/* SPDX-License-Identifier: MIT */
/*
 * A program that has every function that the probe map of ceph-osd names, and does with them what
 * the real one does not do when it is asked to. Each line of its input is an order, which it
 * answers with a line:
 *
 *   read N      N reads, in the order of calls in which the real one serves them
 *   throw N     throws an exception through each function, N times, and N times through all at once
 *   threads N   N threads, all of them in the middle of a read at the same time
 *   fork N      a child that serves N reads, and ends
 *   stay        a child that stays; answers with its pid
 *   child N     ... serves N reads
 *   leave       ... and ends
 *   exec        becomes the same program once more
 *   clock N     its wall clock is N seconds off
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace
{

using function = uintptr_t (*)(void *, void *, void *, void *, void *, void *);

thread_local uint64_t unwound; /* frames that an exception has left */
thread_local bool throwing;
thread_local const function *chain, *chain_end; /* called one from within the other */

struct witness {
    ~witness()
    {
        unwound++;
    }
};

struct fault {
    int number;
};

__attribute__((noinline)) uintptr_t inside(int number, void *argument)
{
    if (chain != chain_end)
        return (*chain++)(argument, argument, argument, argument, argument, argument) + 1;
    if (throwing)
        throw fault{number};
    return (uintptr_t)argument;
}

} // namespace

#define PROBED(number, symbol)                                                                     \
    extern "C" uintptr_t probed_##number(void *, void *, void *, void *, void *,                   \
                                         void *) __asm__(symbol);                                  \
    extern "C" __attribute__((noinline, used, visibility("default")))                              \
    uintptr_t probed_##number(void *a, void *, void *, void *, void *, void *)                     \
    {                                                                                              \
        witness here;                                                                              \
        return inside(number, a) + number;                                                         \
    }
#include "fake_osd_functions.inc"
#undef PROBED

/* virtual tables, of which the map wants to know two; and what symbols may lie about */
extern "C" {
uint64_t request_table[8] __asm__("_ZTV6MOSDOp") = {1};
uint64_t reply_table[8] __asm__("_ZTV11MOSDOpReply") = {1};
uint64_t some_data[8] = {1};
__attribute__((noinline, used)) void another_function()
{
    some_data[0]++;
}
}

namespace
{

struct named_function {
    const char *symbol;
    function call;
};

#define PROBED(number, symbol) {symbol, probed_##number},
const named_function functions[] = {
#include "fake_osd_functions.inc"
};
#undef PROBED

function find(const char *symbol)
{
    for (const named_function &one : functions)
        if (strcmp(one.symbol, symbol) == 0)
            return one.call;
    fprintf(stderr, "fake_osd: the map has no %s\n", symbol);
    exit(3);
}

struct steps {
    function made = find("_ZN9OpRequestC1EP7MessageP9OpTracker");
    function enqueue = find("_ZN3OSD10enqueue_opE5spg_tON5boost13intrusive_ptrI9OpRequestEEj");
    function dequeue = find("_ZN3OSD10dequeue_opEN5boost13intrusive_ptrI2PGEENS1_I9OpRequestEERN10"
                            "ThreadPool8TPHandleE");
    function answer = find("_ZN12PrimaryLogPG12log_op_statsERK9OpRequestmm");
    function send = find("_ZN15AsyncConnection12send_messageEP7Message");
    function write = find("_ZN10ProtocolV213write_messageEP7Messageb");
};

long clock_error; /* in seconds */

/* seconds in the low half, nanoseconds in the high one */
void *wall_clock()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (void *)((uint64_t)now.tv_nsec << 32 | (uint32_t)(now.tv_sec + clock_error));
}

/* A read: the objects are what the probes look at, their first words above all. */
class op
{
    const steps &step;
    uint64_t page[512] = {};
    void *request = page + 256, *reply[64] = {}, *message[64] = {};

  public:
    explicit op(const steps &step) : step(step)
    {
        message[0] = request_table + 2;
        reply[0] = reply_table + 2;
        const uint32_t bytes = 4096;
        memcpy((char *)reply + 0x36, &bytes, sizeof(bytes)); /* its data's length, likewise */
        for (size_t stamp : {0xc8, 0xd8, 0xe0}) /* as the layout of this build has them */
            message[stamp / 8] = wall_clock();
    }

    void begin()
    {
        step.made(request, message, nullptr, nullptr, nullptr, nullptr);
        step.enqueue(nullptr, &request, nullptr, nullptr, nullptr, nullptr);
        step.dequeue(nullptr, nullptr, &request, nullptr, nullptr, nullptr);
    }

    void end()
    {
        step.answer(nullptr, request, nullptr, (void *)4096, nullptr, nullptr);
        step.send(nullptr, reply, nullptr, nullptr, nullptr, nullptr);
        step.write(nullptr, reply, nullptr, nullptr, nullptr, nullptr);
    }
};

void serve(const steps &step, long count)
{
    for (long i = 0; i < count; i++) {
        op one(step);
        one.begin();
        one.end();
    }
}

/* Arguments that can be followed however often: a page of pointers to itself. */
void *endless()
{
    static void *page[512];
    for (void *&one : page)
        one = page;
    return page;
}

void throw_often(long count)
{
    std::vector<function> all;
    uint64_t caught = 0;
    void *argument = endless();
    for (const named_function &one : functions)
        all.push_back(one.call);
    unwound = 0;
    throwing = true;
    for (long i = 0; i < count; i++) {
        for (function one : all)
            try {
                one(argument, argument, argument, argument, argument, argument);
            } catch (const fault &) {
                caught++;
            }
        chain = all.data() + 1;
        chain_end = all.data() + all.size();
        try {
            all[0](argument, argument, argument, argument, argument, argument);
        } catch (const fault &) {
            caught++;
        }
        chain = chain_end = nullptr;
    }
    throwing = false;
    printf("%zu functions, %" PRIu64 " caught, %" PRIu64 " frames\n", all.size(), caught, unwound);
}

struct crowd {
    const steps &step;
    pthread_barrier_t barrier;
};

void *one_of_many(void *context)
{
    crowd *all = static_cast<crowd *>(context);
    op mine(all->step);
    mine.begin();
    pthread_barrier_wait(&all->barrier);
    mine.end();
    return nullptr;
}

void serve_by_threads(const steps &step, long count)
{
    crowd all{step, {}};
    std::vector<pthread_t> threads(count);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all.barrier, nullptr, count);
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, one_of_many, &all)) {
            printf("only %ld threads can be made\n", i);
            fflush(stdout);
            _exit(4);
        }
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    printf("%ld\n", count);
}

class child
{
    int orders[2] = {-1, -1}, answers[2] = {-1, -1};
    pid_t pid = 0;

  public:
    void stay(const steps &step)
    {
        long count;
        if (pipe(orders) || pipe(answers))
            exit(3);
        pid = fork();
        if (pid == 0) {
            close(orders[1]);
            while (read(orders[0], &count, sizeof(count)) == sizeof(count)) {
                serve(step, count);
                if (write(answers[1], &count, sizeof(count)) != sizeof(count))
                    _exit(3);
            }
            _exit(0);
        }
        printf("%d\n", pid);
    }

    void work(long count)
    {
        long done = 0;
        if (write(orders[1], &count, sizeof(count)) != sizeof(count) ||
            read(answers[0], &done, sizeof(done)) != sizeof(done))
            printf("the child is gone\n");
        else
            printf("%ld\n", done);
    }

    void leave()
    {
        int status = -1;
        close(orders[1]);
        waitpid(pid, &status, 0);
        printf("%d\n", status);
    }
};

int by_child(const steps &step, long count)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        serve(step, count);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

} // namespace

int main(int, char **argv)
{
    const steps step;
    child resident;
    char line[64];
    setvbuf(stdin, nullptr, _IONBF, 0); /* what comes after `exec` is for the next program */
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        char word[16] = "";
        long count = 0;
        sscanf(line, "%15s %ld", word, &count);
        if (strcmp(word, "read") == 0) {
            serve(step, count);
            printf("%ld\n", count);
        } else if (strcmp(word, "throw") == 0)
            throw_often(count);
        else if (strcmp(word, "threads") == 0)
            serve_by_threads(step, count);
        else if (strcmp(word, "fork") == 0)
            printf("%d\n", by_child(step, count));
        else if (strcmp(word, "stay") == 0)
            resident.stay(step);
        else if (strcmp(word, "child") == 0)
            resident.work(count);
        else if (strcmp(word, "leave") == 0)
            resident.leave();
        else if (strcmp(word, "exec") == 0) {
            execv("/proc/self/exe", argv);
            return 3;
        } else if (strcmp(word, "clock") == 0) {
            clock_error = count;
            printf("%ld\n", count);
        } else {
            puts("?");
        }
        fflush(stdout);
    }
    return 0;
}
