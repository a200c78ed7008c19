/* SPDX-License-Identifier: MIT */
/*
 * emitter JOB: emits events and prints each, as it must appear in the trace, on a line of its own:
 * NAME PID TID KEY NAME0=VALUE NAME1=VALUE. First comes a line "started 1", or "started 0" when the
 * provider cannot be loaded.
 */
#include <optrail/probe.h>

#include "text_points.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The truth about who emits, asked anew each time. */
#define EMIT(component, action, name0, name1, key_, first_, second_)                               \
    do {                                                                                           \
        printf("%s %d %d 0x%llX %s=%llu %s=%llu\n", #component "_" #action, (int)getpid(),         \
               (int)gettid(), (unsigned long long)(key_), #name0, (unsigned long long)(first_),    \
               #name1, (unsigned long long)(second_));                                             \
        OPTRAIL(component##_##action, key_, first_, second_);                                      \
    } while (0)

#define EMIT_START(key_, first_, second_) EMIT(op, start, type, client, key_, first_, second_)

#define EMIT_TEXT(component, action, name0, name1, key_, second_, text_, told_)                    \
    do {                                                                                           \
        printf("%s %d %d 0x%llX %s=\"%s\" %s=%llu\n", #component "_" #action, (int)getpid(),       \
               (int)gettid(), (unsigned long long)(key_), #name0, told_, #name1,                   \
               (unsigned long long)(second_));                                                     \
        OPTRAIL_TEXT(component##_##action, key_, text_, second_);                                  \
    } while (0)

/* An event holds so much of a text and no more. */
static const char *long_text(size_t length)
{
    static char texts[2][2 * OPTRAIL_TEXT_MAX];
    char *text = texts[length > OPTRAIL_TEXT_MAX];

    memset(text, 'x', length);
    text[length] = '\0';
    return text;
}

#define EACH_0(component, action, arg0, arg1)                                                      \
    EMIT(component, action, arg0, arg1, number, number + 1, UINT64_MAX - number)
#define EACH_1(component, action, arg0, arg1)                                                      \
    do {                                                                                           \
        const char *whole = long_text(OPTRAIL_TEXT_MAX), *more = long_text(OPTRAIL_TEXT_MAX + 9);  \
        EMIT_TEXT(component, action, arg0, arg1, number, 1, "a text; of words",                    \
                  "a text; of words");                                                             \
        EMIT_TEXT(component, action, arg0, arg1, number, 2, NULL, "");                             \
        EMIT_TEXT(component, action, arg0, arg1, number, UINT64_MAX - number, whole, whole);       \
        EMIT_TEXT(component, action, arg0, arg1, number, 4, more, whole);                          \
    } while (0)

/* Each point once, with values that use all 64 bits; those with a text with several. */
static void each_point(void)
{
    uint64_t number = 0xfedcba9876543210u;
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    IF_TEXT(role, EACH_)(component, action, arg0, arg1);                                           \
    number += 0x0101010101010101u;
#include <optrail/events.def>
#undef OPTRAIL_POINT
}

static void *thread_of_forks(void *argument)
{
    EMIT_START((uintptr_t)argument, 5, 6);
    return NULL;
}

static void in_child(void (*job)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        job();
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0)
        _exit(1);
}

static void grandchild(void)
{
    EMIT_START(3, 0, 0);
}

static void child(void)
{
    EMIT_START(2, 0, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_of_forks, (void *)20) == 0)
        pthread_join(thread, NULL);
    in_child(grandchild);
    EMIT_START(2, 1, 0);
}

static void forks(void)
{
    EMIT_START(1, 0, 0);
    in_child(child);
    EMIT_START(1, 1, 0);
}

enum { THREADS = 4000, THREADS_AT_ONCE = 200 };

static void *one_of_many(void *argument)
{
    uint64_t number = (uintptr_t)argument;
    EMIT_START(number, number * 2, 0);
    EMIT_START(number, number * 2, 1);
    return NULL;
}

static void threads(void)
{
    static pthread_t running[THREADS_AT_ONCE];
    for (uintptr_t begin = 0; begin < THREADS; begin += THREADS_AT_ONCE) {
        for (uintptr_t i = 0; i < THREADS_AT_ONCE; i++)
            if (pthread_create(&running[i], NULL, one_of_many, (void *)(begin + i)))
                exit(1);
        for (uintptr_t i = 0; i < THREADS_AT_ONCE; i++)
            pthread_join(running[i], NULL);
    }
}

/* The plugin (argv of the job: its file) has probes of its own, is loaded, starts them, emits, and
 * is unloaded while the session goes on. */
static const char *plugin_file;

static void plugin(void)
{
    enum { TIMES = 50 };
    for (uint64_t i = 0; i < TIMES; i++) {
        void *handle = dlopen(plugin_file, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        int (*plugin_emit)(uint64_t) = (int (*)(uint64_t))dlsym(handle, "plugin_emit");
        if (!plugin_emit(i))
            exit(1);
        printf("op_finish %d %d 0x%llX bytes_in=1 bytes_out=2\n", (int)getpid(), (int)gettid(),
               (unsigned long long)i);
        dlclose(handle);
        if (dlopen(plugin_file, RTLD_NOW | RTLD_NOLOAD)) {
            fprintf(stderr, "the plugin was not unloaded: this shows nothing\n");
            exit(1);
        }
        EMIT_START(i, 3, 4);
    }
    in_child(grandchild);
}

/* A signal handler that interrupts emitting, and emits. */
static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    OPTRAIL(op_end, (uint64_t)handled, 0, 0);
    handled = handled + 1;
}

static void signals(void)
{
    enum { EVENTS = 20000 };
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    pid_t self = getpid();
    fflush(stdout);
    pid_t sender = fork();
    if (sender == 0) {
        while (getppid() == self)
            if (kill(self, SIGUSR1))
                break;
        _exit(0);
    }
    uint64_t emitted = 0;
    for (; emitted < EVENTS || handled < 100; emitted++)
        OPTRAIL(op_failed, emitted, 0, 0);
    kill(sender, SIGKILL);
    while (waitpid(sender, NULL, 0) < 0)
        ;
    action.sa_handler = SIG_IGN;
    sigaction(SIGUSR1, &action, NULL);
    /* how many is not known before: the trace must hold what was counted */
    for (uint64_t i = 0; i < emitted; i++)
        printf("op_failed %d %d 0x%llX error=0 arg1=0\n", (int)self, (int)gettid(),
               (unsigned long long)i);
    for (int i = 0; i < handled; i++)
        printf("op_end %d %d 0x%X arg0=0 arg1=0\n", (int)self, (int)gettid(), (unsigned)i);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int is_started = optrail_probes_start();
    printf("started %d\n", is_started);
    if (optrail_probes_start() != is_started)
        return 1;
    plugin_file = argc > 2 ? argv[2] : NULL;
    static const struct {
        const char *name;
        void (*run)(void);
    } jobs[] = {{"each", each_point},
                {"forks", forks},
                {"threads", threads},
                {"plugin", plugin},
                {"signals", signals}};
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        if (strcmp(argv[1], jobs[i].name) == 0) {
            jobs[i].run();
            return fflush(stdout) ? 1 : 0;
        }
    return 2;
}
