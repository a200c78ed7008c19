/* SPDX-License-Identifier: MIT */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "err.h"
#include "interrupt.h"

/* So much CPU time without a sign of getting on is a loop. The largest sound step known is the
 * parsing of a trace's metadata, which takes milliseconds. */
#define STUCK_SECONDS 8
/* The same for somebody who has asked for the end already. */
#define STUCK_SECONDS_AT_THE_END 2
/* Far more than any sound trace takes; a damaged one that asks for more gets a failed allocation.
 */
#define LARGEST_DATA      (1ul << 30)
#define LOOK_MILLISECONDS 100

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING_SIGNALS (sizeof(ending_signals) / sizeof(ending_signals[0]))

static volatile sig_atomic_t child_pid, signal_count, last_signal;
static _Atomic uint64_t first_signal_ns;

/* What belongs to one call of supervise(). */
struct supervisor {
    int (*work)(void *context, struct supervision *supervision);
    void *context;
    struct supervisor_options options;
    struct supervision *shared; /* with the child */
    char *directory;            /* for the child's temporary files; NULL: could not be made */
    int died_of;                /* the signal that ended the last child; 0: none did */
};

enum end { CAME_TO_ITS_END, DIED, WAS_STUCK, WAS_TOLD };

static void forward(int number)
{
    if (!interrupt_counts(&first_signal_ns))
        return;
    last_signal = number;
    signal_count = signal_count + 1;
    if (child_pid > 0)
        kill(child_pid, signal_count > 1 ? SIGKILL : number);
}

static void handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &action, NULL);
}

static void block_signals(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&set, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* A directory of the child's own. Without one the child says itself what it lacks, if it does. */
static void make_directory(struct supervisor *supervisor)
{
    const char *temporary = getenv("TMPDIR");

    if (asprintf(&supervisor->directory, "%s/optrail-XXXXXX",
                 temporary && *temporary ? temporary : "/tmp") < 0)
        supervisor->directory = NULL;
    if (supervisor->directory && !mkdtemp(supervisor->directory)) {
        free(supervisor->directory);
        supervisor->directory = NULL;
    }
}

/* With all that a child left in it. Links are removed, not followed. */
static void remove_directory(struct supervisor *supervisor)
{
    char *paths[] = {supervisor->directory, NULL};
    FTS *walk = supervisor->directory ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    const FTSENT *entry;

    while (walk && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_DP)
            rmdir(entry->fts_path);
        else if (entry->fts_info != FTS_D)
            unlink(entry->fts_path);
    }
    if (walk)
        fts_close(walk);
    free(supervisor->directory);
    supervisor->directory = NULL;
}

/* What babeltrace2 prints before it aborts is no message for people. The terminal stays at hand for
 * progress. */
static void hide_standard_error(struct supervision *shared)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    shared->terminal = NULL;
    if (isatty(STDERR_FILENO)) {
        int copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        shared->terminal = copy < 0 ? NULL : fdopen(copy, "w");
    }
#ifndef __SANITIZE_ADDRESS__ /* whose reports must be seen */
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
#endif
    if (nowhere >= 0)
        close(nowhere);
}

static void limit_memory(uint64_t bytes)
{
/* a sanitizer's shadow alone is larger */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit limit = {bytes, bytes};

    setrlimit(RLIMIT_DATA, &limit);
#else
    (void)bytes;
#endif
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
}

_Noreturn static void be_child(const struct supervisor *supervisor, const sigset_t *mask)
{
    struct supervision *shared = supervisor->shared;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* a group of its own: what the terminal sends comes by way of the parent, and once */
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* such a group may not write to every terminal, else */
    handle_signals(SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (supervisor->directory)
        setenv("TMPDIR", supervisor->directory, 1);
    hide_standard_error(shared);
    limit_memory(supervisor->options.data_bytes);
    shared->result = supervisor->work(supervisor->context, shared);
    errno = 0;
    if (shared->result >= 0 && (fflush(stdout) == EOF || ferror(stdout)))
        shared->result = err_set(errno ? errno : EIO, "standard output cannot be written: %s",
                                 strerror(errno ? errno : EIO));
    memcpy(shared->message, err_message(), strlen(err_message()) + 1);
    /* not exit(): the parent's streams and handlers are the parent's */
    fflush(NULL);
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check();
#endif
    _exit(0);
}

static double cpu_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec used;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Until the child has ended, a signal came, or it is time to look at it. */
static void wait_a_moment(int child)
{
    struct pollfd end = {.fd = child, .events = POLLIN};

    poll(&end, 1, child < 0 ? LOOK_MILLISECONDS / 10 : LOOK_MILLISECONDS);
}

/* Waits for the child; kills it when it is stuck. */
static enum end wait_for_child(const struct supervisor *supervisor, pid_t pid, int *status)
{
    const struct supervision *shared = supervisor->shared;
    int child = pidfd_open(pid, 0);
    enum end end = CAME_TO_ITS_END;
    uint64_t beats = 0;
    double moved_at = 0;
    pid_t done;

    while ((done = waitpid(pid, status, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
        double used = cpu_seconds(pid);
        double allowed = supervisor->options.stuck_seconds;
        if (signal_count > 0 && allowed > STUCK_SECONDS_AT_THE_END)
            allowed = STUCK_SECONDS_AT_THE_END;
        if (shared->watch.beats != beats || shared->past_the_data) {
            beats = shared->watch.beats;
            moved_at = used;
        } else if (used - moved_at > allowed) {
            end = WAS_STUCK;
            kill(pid, SIGKILL);
        }
        wait_a_moment(child);
    }
    if (child >= 0)
        close(child);
    if (end == WAS_STUCK && signal_count < 2)
        return end;
    if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        return CAME_TO_ITS_END;
    return signal_count > 1 || (WIFSIGNALED(*status) && WTERMSIG(*status) == last_signal) ? WAS_TOLD
                                                                                          : DIED;
}

/* How the child's end is told. */
static void describe(enum end end, int status, char *why, size_t size)
{
    if (end == WAS_STUCK)
        snprintf(why, size, "does not come to an end");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        snprintf(why, size, "aborts");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP) /* GLib's way to say so */
        snprintf(why, size, "asks for too much memory");
    else if (WIFSIGNALED(status))
        snprintf(why, size, "ends with signal %d", WTERMSIG(status));
    else
        snprintf(why, size, "ends with status %d", WEXITSTATUS(status));
}

/* Once. What is not CAME_TO_ITS_END is described in `why`. A negative errno: it could not start. */
static int try_once(struct supervisor *supervisor, char *why, size_t size)
{
    struct supervision *shared = supervisor->shared;
    sigset_t mask;
    int status = 0;

    shared->watch.beats = shared->watch.call = 0;
    shared->past_the_data = 0;
    shared->message[0] = '\0';
    shared->notes[0] = '\0';
    fflush(NULL); /* or the child would write what is buffered once more */
    block_signals(&mask);
    pid_t pid = fork();
    if (pid == 0)
        be_child(supervisor, &mask);
    child_pid = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid < 0)
        return err_set(errno, "cannot start a process: %s", strerror(errno));
    enum end end = wait_for_child(supervisor, pid, &status);
    child_pid = 0;
    describe(end, status, why, size);
    supervisor->died_of = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return (int)end;
}

/* As the signal would have ended this process. */
static void end_by_signal(int number)
{
    handle_signals(SIG_DFL);
    fflush(NULL);
    raise(number);
}

/* Notes the call that was the end. False: leaving out calls does not help. */
static bool leave_out(struct read_watch *watch, const char *why)
{
    if (watch->call == 0 || watch->fatal_count == READ_FATAL_CALLS)
        return false;
    for (size_t i = 0; i < watch->fatal_count; i++)
        if (watch->fatal[i].call == watch->call)
            return false;
    watch->fatal[watch->fatal_count].call = watch->call;
    snprintf(watch->fatal[watch->fatal_count].why, sizeof(watch->fatal[0].why), "babeltrace2 %s",
             why);
    watch->fatal_count++;
    return true;
}

static int run(struct supervisor *supervisor)
{
    struct supervision *shared = supervisor->shared;
    char why[40] = "";
    int end;

    do
        end = try_once(supervisor, why, sizeof(why));
    while (((end == DIED && supervisor->died_of != SIGPIPE) || end == WAS_STUCK) &&
           !shared->past_the_data && leave_out(&shared->watch, why));
    if (end < 0)
        return end;
    if (end == CAME_TO_ITS_END)
        fputs(shared->notes, stderr);
    if (end == CAME_TO_ITS_END)
        return shared->result < 0 ? err_set(-shared->result, "%s", shared->message)
                                  : shared->result;
    if (end == WAS_TOLD)
        return err_set(EINTR, "interrupted");
    if (end == DIED && supervisor->died_of == SIGPIPE)
        return err_set(EPIPE, "nobody reads the output any more");
    if (shared->past_the_data)
        return err_set(EFAULT, "the report's own process %s: this is an error of optrail's", why);
    return err_set(EIO, "%.600s: is damaged: babeltrace2 %s on it, and nothing of it can be read",
                   supervisor->options.data_name, why);
}

int supervise(int (*work)(void *context, struct supervision *supervision), void *context,
              const struct supervisor_options *options)
{
    struct supervisor supervisor = {.work = work, .context = context};

    if (options)
        supervisor.options = *options;
    if (!supervisor.options.data_name)
        supervisor.options.data_name = "the data";
    if (supervisor.options.stuck_seconds <= 0)
        supervisor.options.stuck_seconds = STUCK_SECONDS;
    if (supervisor.options.data_bytes == 0)
        supervisor.options.data_bytes = LARGEST_DATA;
    supervisor.shared = mmap(NULL, sizeof(*supervisor.shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (supervisor.shared == MAP_FAILED)
        return err_no_memory();
    signal_count = last_signal = 0;
    atomic_store(&first_signal_ns, 0);
    handle_signals(forward);
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, how a child ended cannot be known */
    make_directory(&supervisor);
    int result = run(&supervisor);
    remove_directory(&supervisor);
    munmap(supervisor.shared, sizeof(*supervisor.shared));
    if (result == -EINTR && signal_count > 0)
        end_by_signal(last_signal);
    if (result == -EPIPE) /* as every program in a pipe */
        end_by_signal(SIGPIPE);
    handle_signals(SIG_DFL);
    return result;
}
