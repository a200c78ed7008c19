/* SPDX-License-Identifier: MIT */
#include "session_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "err.h"

#define DAEMON "lttng-sessiond"

enum { DAEMON_START_SECONDS = 20, DAEMON_STOP_SECONDS = 10 };

static void become_daemon(pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid(); /* a Ctrl-C is for the traced program; the daemon is stopped after it */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    execlp(DAEMON, DAEMON, "--no-kernel", "--sig-parent", (char *)NULL);
    _exit(127);
}

static int died(pid_t daemon)
{
    int status = 0;
    waitpid(daemon, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(ENOENT, DAEMON " is not installed: apt-get install lttng-tools");
    return err_set(ECHILD,
                   DAEMON " ended while it started (status %#x): run `" DAEMON
                          " --no-kernel -v` to see why",
                   (unsigned)status);
}

/* The daemon sends SIGUSR1 to its parent once clients can connect. */
int session_daemon_start(pid_t *daemon)
{
    sigset_t wanted;
    sigset_t before;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, &before);

    int result = 0;
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0)
        become_daemon(parent);
    if (child < 0)
        result = err_set(errno, "cannot start " DAEMON ": %s", strerror(errno));
    const struct timespec limit = {.tv_sec = DAEMON_START_SECONDS};
    while (result == 0) {
        siginfo_t info;
        int signal = sigtimedwait(&wanted, &info, &limit);
        if (signal == SIGUSR1)
            break;
        if (signal == SIGCHLD && info.si_pid == child)
            result = died(child);
        else if (signal < 0 && errno == EAGAIN)
            result = err_set(ETIMEDOUT, DAEMON " was not ready after %d s", DAEMON_START_SECONDS);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (result == -ETIMEDOUT)
        session_daemon_stop(child);
    *daemon = result == 0 ? child : 0;
    return result;
}

/* True once the daemon is gone, and reaped. */
static bool wait_for_daemon(pid_t daemon, int seconds)
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < seconds * 100; i++) {
        if (waitpid(daemon, NULL, WNOHANG) != 0)
            return true;
        nanosleep(&step, NULL);
    }
    return false;
}

void session_daemon_stop(pid_t daemon)
{
    kill(daemon, SIGTERM);
    if (!wait_for_daemon(daemon, DAEMON_STOP_SECONDS)) {
        kill(daemon, SIGKILL);
        waitpid(daemon, NULL, 0);
    }
}
