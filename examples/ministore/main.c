/* SPDX-License-Identifier: MIT */
/* ministore: a small storage daemon, the ground truth of the tool. See README.md. */
#include <errno.h>
#include <optrail/probe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "allocator_storm.h"
#include "daemon_log.h"
#include "daemon_options.h"
#include "daemon_stats.h"
#include "inject.h"
#include "messenger.h"
#include "named_lock.h"
#include "osd.h"
#include "standard_files.h"

/* The signals that main waits for; threads started after it inherit that they are blocked. */
static sigset_t block_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is then an error of the write */
    return signals;
}

/* As many files as we may; at most half of them are connections: the store needs some, too. */
static void raise_file_limit(struct daemon_options *options)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (options->max_connections > limit.rlim_max / 2) {
        options->max_connections = limit.rlim_max / 2;
        log_error("only %lu connections at once: the limit of open files is %lu",
                  (unsigned long)options->max_connections, (unsigned long)limit.rlim_max);
    }
}

static int write_pid_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return log_error("cannot write %s: %s", path, strerror(errno));
    fprintf(file, "%d\n", (int)getpid());
    return fclose(file) == 0 ? 0 : log_error("cannot write %s: %s", path, strerror(errno));
}

static void serve_until_told(const struct daemon_options *options, const sigset_t *signals)
{
    for (;;) {
        int signal_number;
        if (sigwait(signals, &signal_number) != 0)
            continue;
        if (signal_number != SIGUSR1)
            return;
        if (options->stats)
            stats_write(options->stats);
    }
}

static int run(const struct daemon_options *options, const sigset_t *signals)
{
    static struct messenger messenger; /* outlives the threads that are on their way out */
    int result = osd_start(options);
    if (result == 0 && (result = messenger_start(&messenger, options, osd_dispatch, NULL)) == 0) {
        if (!options->pid_file || (result = write_pid_file(options->pid_file)) == 0) {
            printf("listening on 127.0.0.1:%u\n", (unsigned)messenger.port);
            fflush(stdout);
            serve_until_told(options, signals);
        }
        messenger_stop(&messenger);
    }
    if (osd_stop() != 0)
        result = -1;
    if (options->stats && stats_write(options->stats) != 0)
        result = -1;
    if (options->pid_file)
        unlink(options->pid_file);
    return result == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    standard_files_open();
    struct daemon_options options;
    int parsed = daemon_options_parse(&options, argc, argv);
    if (parsed != 0)
        return parsed < 0 ? 2 : 0;
    sigset_t signals = block_signals();
    inject_start_process();
    allocator_storm_prepare(options.allocator_storm);
    if (options.lock_stats == SWITCH_ON)
        lock_measure_holds();
    raise_file_limit(&options);
    optrail_probes_start();
    return run(&options, &signals);
}
