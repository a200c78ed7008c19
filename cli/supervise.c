/* SPDX-License-Identifier: MIT */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "interrupt.h"

/* So much CPU time without a sign of getting on is a loop. The largest sound step known is the
 * parsing of a trace's metadata, which takes milliseconds. */
#define STUCK_SECONDS 5
/* Far more than any sound trace takes; a damaged one that asks for more gets a failed allocation.
 */
#define LARGEST_DATA (1ul << 30)

static volatile sig_atomic_t child_pid;

static void forward(int number)
{
    if (child_pid > 0)
        kill(child_pid, number);
}

static void handle_signals(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

/* What babeltrace2 prints before it aborts is no message for people. The terminal stays at hand for
 * progress. */
static void hide_standard_error(struct supervision *supervision)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    supervision->terminal = NULL;
    if (isatty(STDERR_FILENO)) {
        int copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        supervision->terminal = copy < 0 ? NULL : fdopen(copy, "w");
    }
#ifndef __SANITIZE_ADDRESS__ /* whose reports must be seen */
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
#endif
    if (nowhere >= 0)
        close(nowhere);
}

static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
    const struct rlimit limit = {LARGEST_DATA, LARGEST_DATA};

    setrlimit(RLIMIT_DATA, &limit);
#endif
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
}

_Noreturn static void be_child(int (*work)(void *, struct supervision *), void *context,
                               struct supervision *supervision, const sigset_t *mask)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* a group of its own: what the terminal sends comes by way of the parent, and once */
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* such a group may not write to every terminal, else */
    interrupt_install();
    sigprocmask(SIG_SETMASK, mask, NULL);
    hide_standard_error(supervision);
    limit_memory();
    supervision->result = work(context, supervision);
    errno = 0;
    if (supervision->result >= 0 && (fflush(stdout) == EOF || ferror(stdout)))
        supervision->result = err_set(errno ? errno : EIO, "standard output cannot be written: %s",
                                      strerror(errno ? errno : EIO));
    memcpy(supervision->message, err_message(), strlen(err_message()) + 1);
    /* not exit(): the parent's streams and handlers are the parent's */
    fflush(NULL);
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

/* Waits for the child; kills it when it is stuck. Returns its wait status. */
static int wait_for_child(pid_t pid, const struct supervision *supervision, int *stuck)
{
    uint64_t beats = 0;
    double moved_at = 0;
    int status = 0;

    *stuck = 0;
    for (;;) {
        struct timespec moment = {.tv_nsec = 2000000};
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid)
            return status;
        if (done < 0 && errno != EINTR)
            return 0;
        nanosleep(&moment, NULL);
        double used = cpu_seconds(pid);
        if (supervision->beats != beats) {
            beats = supervision->beats;
            moved_at = used;
        } else if (used - moved_at > STUCK_SECONDS) {
            *stuck = 1;
            kill(pid, SIGKILL);
        }
    }
}

/* Once. Returns 1 when the child came to no end of its own. */
static int try_once(int (*work)(void *, struct supervision *), void *context,
                    struct supervision *supervision, char *why, size_t size)
{
    int stuck, status;
    sigset_t all, mask;

    supervision->events = supervision->beats = 0;
    fflush(NULL); /* or the child would write what is buffered once more */
    /* a signal between these lines waits until there is somebody to take it */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    pid_t pid = fork();
    if (pid == 0)
        be_child(work, context, supervision, &mask);
    child_pid = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (pid < 0)
        return err_set(errno, "cannot start a process: %s", strerror(errno));
    status = wait_for_child(pid, supervision, &stuck);
    child_pid = 0;
    if (!stuck && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        memmove(why, supervision->message, strnlen(supervision->message, size - 1) + 1);
        return 0;
    }
    if (stuck)
        snprintf(why, size, "does not come to an end");
    else if (WIFSIGNALED(status))
        snprintf(why, size, "ends with signal %d", WTERMSIG(status));
    else
        snprintf(why, size, "ends with status %d", WEXITSTATUS(status));
    return 1;
}

int supervise(int (*work)(void *context, struct supervision *supervision), void *context)
{
    char why[1024];
    struct supervision *supervision =
        mmap(NULL, sizeof(*supervision), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (supervision == MAP_FAILED)
        return err_no_memory();
    supervision->limit = UINT64_MAX;
    handle_signals(forward);
    int result = try_once(work, context, supervision, why, sizeof(why));
    if (result == 1 && supervision->events > 0) {
        supervision->limit = supervision->events;
        snprintf(supervision->damage, sizeof(supervision->damage),
                 "damaged: babeltrace2 %.100s on what follows event %" PRIu64, why,
                 supervision->limit);
        result = try_once(work, context, supervision, why, sizeof(why));
    }
    if (result == 1)
        result = err_set(EIO,
                         "the trace is damaged: babeltrace2 %s on it, and nothing before that "
                         "can be read",
                         why);
    else if (result == 0 && supervision->result < 0)
        result = err_set(-supervision->result, "%s", why);
    munmap(supervision, sizeof(*supervision));
    return result;
}
