/* SPDX-License-Identifier: MIT */
#include "contended_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"
#include "err.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t held_steps;
static struct timespec pause_time;
static volatile uint64_t *turns;

static void step(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __asm__ volatile("" : "+r"(i));
}

static void *work(void *argument)
{
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&mutex);
        step(held_steps);
        (*turns)++;
        pthread_mutex_unlock(&mutex);
        nanosleep(&pause_time, NULL);
    }
    return NULL;
}

/* Steps a microsecond, by the CPU time of many. */
static double find_speed(void)
{
    double best = 0;
    for (int i = 0; i < 10; i++) {
        uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        step(1000000);
        double speed = 1e9 / (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
        best = speed > best ? speed : best;
    }
    return best;
}

static void run(const struct contended_plan *plan, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    double speed = find_speed();
    held_steps = (uint64_t)(plan->held_us * speed);
    pause_time.tv_nsec = (long)(plan->asleep_us * 1e3);
    for (unsigned i = 0; i < plan->threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL))
            _exit(1);
    }
    for (;;)
        pause();
}

int contended_work_start(const struct contended_plan *plan, struct contended_work *result)
{
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_set(errno, "cannot share memory: %s", strerror(errno));
    turns = result->turns = shared;
    pid_t parent = getpid();
    result->pid = fork();
    if (result->pid < 0) {
        munmap(shared, 4096);
        return err_set(errno, "cannot start a process: %s", strerror(errno));
    }
    if (result->pid == 0)
        run(plan, parent);
    while (*result->turns < 100)
        sched_yield();
    return 0;
}

void contended_work_end(struct contended_work *work)
{
    kill(work->pid, SIGKILL);
    waitpid(work->pid, NULL, 0);
    munmap((void *)(uintptr_t)work->turns, 4096);
}

uint64_t contended_work_cpu_ns(const struct contended_work *work)
{
    clockid_t clock;
    return clock_getcpuclockid(work->pid, &clock) ? 0 : clock_ns(clock);
}
