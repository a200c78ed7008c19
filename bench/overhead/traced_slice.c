/* SPDX-License-Identifier: MIT */
#include "traced_slice.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "thread_times.h"

/* Attaching takes some 100 ms. */
#define PATIENCE_MS 30000
#define MAX_WORDS   64
/* What `attach` says when its probes are in. */
#define ATTACHED " probes by "

static int spawn(struct traced_slice *slice, char **words)
{
    posix_spawn_file_actions_t files;
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC))
        return err_set(errno, "cannot make a pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, pipes[1], STDERR_FILENO);
    int error = posix_spawn(&slice->pid, "/proc/self/exe", &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    close(pipes[1]);
    if (error) {
        close(pipes[0]);
        return err_set(error, "cannot run optrail attach: %s", strerror(error));
    }
    slice->messages = pipes[0];
    return 0;
}

/* Reads its messages until one says that it is attached; the last line otherwise is why not. */
static int await_attached(struct traced_slice *slice)
{
    char text[4096];
    size_t used = 0;

    for (;;) {
        struct pollfd ready = {.fd = slice->messages, .events = POLLIN};
        text[used] = '\0';
        if (strstr(text, ATTACHED))
            return 0;
        ssize_t got = poll(&ready, 1, PATIENCE_MS) > 0
                          ? read(slice->messages, text + used, sizeof(text) - 1 - used)
                          : -1;
        if (got <= 0)
            break;
        used += (size_t)got;
        if (used == sizeof(text) - 1)
            used = 0; /* talkative; what counts comes in one piece */
    }
    text[strcspn(text, "\n")] = '\0';
    return err_set(EIO, "optrail attach did not attach: %s", used ? text : "it said nothing");
}

static void reap(struct traced_slice *slice, struct rusage *usage, int *status)
{
    char dropped[4096];

    /* it must not be stopped by a full pipe; ends with its end */
    while (read(slice->messages, dropped, sizeof(dropped)) > 0)
        continue;
    close(slice->messages);
    while (wait4(slice->pid, status, 0, usage) < 0 && errno == EINTR)
        continue;
}

int traced_slice_begin(struct traced_slice *slice, pid_t target, const char *options)
{
    char pid[16], copy[1024], *rest = NULL;
    char *words[MAX_WORDS + 1] = {(char *)"optrail", (char *)"attach",   (char *)"-p", pid,
                                  (char *)"-o",      (char *)"/dev/null"};
    size_t count = 6;

    *slice = (struct traced_slice){.report = "/tmp/optrail-overhead-XXXXXX"};
    int file = mkstemp(slice->report);
    if (file < 0)
        return err_set(errno, "%s: %s", slice->report, strerror(errno));
    close(file);
    words[count++] = (char *)"--json";
    words[count++] = slice->report;
    snprintf(pid, sizeof(pid), "%d", target);
    snprintf(copy, sizeof(copy), "%s", options ? options : "");
    for (char *word = strtok_r(copy, " ", &rest); word && count < MAX_WORDS;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    int error = spawn(slice, words);
    if (!error)
        error = await_attached(slice);
    if (error && slice->pid > 0) {
        struct rusage usage;
        int status;
        kill(slice->pid, SIGTERM);
        reap(slice, &usage, &status);
    }
    if (!error)
        error = thread_times_read(slice->pid, &slice->attached_ns);
    if (error)
        unlink(slice->report);
    return error;
}

static int read_report(const char *file, struct traced_counts *counts)
{
    json_int_t events = 0, ops = 0, lost = 0;
    json_t *tree = json_load_file(file, 0, NULL);
    int wrong = json_unpack(tree, "{s:{s:I,s:I,s:I}}", "counts", "events", &events, "ops", &ops,
                            "lost_events", &lost);

    json_decref(tree);
    if (wrong)
        return err_set(EBADMSG, "the report of optrail attach lacks its counts");
    counts->events = (uint64_t)events;
    counts->ops = (uint64_t)ops;
    counts->lost_events = (uint64_t)lost;
    return 0;
}

int traced_slice_end(struct traced_slice *slice, struct traced_counts *counts)
{
    struct rusage usage = {0};
    int status = 0;

    *counts = (struct traced_counts){0};
    kill(slice->pid, SIGINT);
    reap(slice, &usage, &status);
    int error = status == 0 ? read_report(slice->report, counts)
                            : err_set(EIO, "optrail attach failed (status %#x)", (unsigned)status);
    unlink(slice->report);
    counts->cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                     (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
    return error;
}
