/* SPDX-License-Identifier: MIT */
/*
 * Spends known times in known functions, on a CPU and off it, under stacks of known depths. On a
 * line from standard input it begins; tells by its own clocks what each thread did; ends with
 * standard input.
 *
 * thread NAME DEPTH CPU_NS ASKED_NS NAP_NS WALL_NS DELAY_NS
 * (ASKED_NS: how long it wanted to sleep; NAP_NS: until it went on. DELAY_NS: of
 * /proc/self/task/TID/schedstat, how long it wanted a CPU and had none)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__ /* clang-tidy's: it knows no noipa, and does not run what it reads */
#define noipa noinline
#endif

#define TURNS 40

static const struct task {
    int depth;
    unsigned burn_us, nap_us; /* each turn */
} tasks[] = {{1, 6000, 40000},
             {10, 8000, 35000},
             {40, 10000, 30000},
             {80, 12000, 25000},
             {120, 14000, 20000}};
enum { TASKS = sizeof(tasks) / sizeof(*tasks) };

struct measured {
    uint64_t cpu_ns, nap_ns, wall_ns, delay_ns;
};
static struct measured results[TASKS];
static pthread_barrier_t begin;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t delay_ns(void)
{
    char path[64];
    unsigned long long ran = 0, delay = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%llu %llu", &ran, &delay) != 2)
        delay = 0;
    if (file)
        fclose(file);
    return delay;
}

__attribute__((noipa)) static void burn(const struct task *task)
{
    uint64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + task->burn_us * 1000ull;
    volatile uint64_t value = 1;
    do
        for (int i = 0; i < 20000; i++)
            value = value * 3 + 1;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until);
}

__attribute__((noipa)) static void nap(const struct task *task, struct measured *measured)
{
    const struct timespec length = {.tv_nsec = task->nap_us * 1000l};
    uint64_t from = now_ns(CLOCK_MONOTONIC);
    nanosleep(&length, NULL);
    measured->nap_ns += now_ns(CLOCK_MONOTONIC) - from;
}

/* Below a buffer whose middle nobody ever touches: its pages are not there. */
__attribute__((noipa)) static void below_buffer(const struct task *task, struct measured *measured)
{
    volatile char buffer[40000];
    buffer[0] = 1;
    burn(task);
    nap(task, measured);
    (void)buffer[0];
}

/* One frame a level, without a frame pointer, and of a size of its own. */
__attribute__((noipa)) static void descend(int levels, const struct task *task,
                                           struct measured *measured)
{
    volatile char room[64];
    room[levels % 64] = (char)levels;
    if (levels > 1)
        descend(levels - 1, task, measured);
    else
        below_buffer(task, measured);
    (void)room[levels % 64];
}

static void *work(void *argument)
{
    const struct task *task = argument;
    struct measured *measured = &results[task - tasks];
    char name[16];
    snprintf(name, sizeof(name), "depth-%d", task->depth);
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&begin);
    uint64_t wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t delay = delay_ns();
    for (int i = 0; i < TURNS; i++)
        descend(task->depth, task, measured);
    measured->delay_ns = delay_ns() - delay;
    measured->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    measured->wall_ns = now_ns(CLOCK_MONOTONIC) - wall;
    return NULL;
}

int main(void)
{
    pthread_t threads[TASKS];
    char line[16];
    pthread_barrier_init(&begin, NULL, TASKS + 1);
    for (int i = 0; i < TASKS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)&tasks[i]))
            return 1;
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin))
        return 1;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < TASKS; i++)
        printf("thread depth-%d %d %llu %llu %llu %llu %llu\n", tasks[i].depth, tasks[i].depth,
               (unsigned long long)results[i].cpu_ns, TURNS * tasks[i].nap_us * 1000ull,
               (unsigned long long)results[i].nap_ns, (unsigned long long)results[i].wall_ns,
               (unsigned long long)results[i].delay_ns);
    puts("done");
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) ? 1 : 0;
}
