/* SPDX-License-Identifier: MIT */
#include "lttng_session.h"

#include "err.h"
#include "run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOT_SOCKETS "/run/lttng"
#define DAEMON       "lttng-sessiond"

enum { DAEMON_START_SECONDS = 20, DAEMON_STOP_SECONDS = 10 };

struct lttng_session {
    char home[32]; /* a temporary directory: $LTTNG_HOME of the daemon and its clients */
    pid_t daemon;  /* 0: not running */
    bool recording;
};

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static int make_home(struct lttng_session *session)
{
    snprintf(session->home, sizeof(session->home), "/tmp/optrail-lttng-XXXXXX");
    if (!mkdtemp(session->home)) {
        int code = errno;
        session->home[0] = '\0';
        return err_set(code, "no temporary directory in /tmp for the LTTng session daemon: %s",
                       strerror(code));
    }
    if (setenv("LTTNG_HOME", session->home, 1))
        return err_no_memory();
    return 0;
}

/* For root alone: see the header. */
static int hide_root_sockets(void)
{
    if (geteuid() != 0)
        return 0;
    if (mkdir(ROOT_SOCKETS, 0755) && errno != EEXIST)
        return err_set(errno, "cannot make " ROOT_SOCKETS ": %s", strerror(errno));
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("lttng", ROOT_SOCKETS, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0)
        return 0;
    if (access(ROOT_SOCKETS "/client-" DAEMON, F_OK) == 0)
        return err_set(EBUSY, "root's " DAEMON " is running, and no mount namespace for a second "
                              "one can be made here: stop it, or add CAP_SYS_ADMIN");
    return 0;
}

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

static int daemon_died(struct lttng_session *session)
{
    int status = 0;
    waitpid(session->daemon, &status, 0);
    session->daemon = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return err_set(ENOENT, DAEMON " is not installed: apt-get install lttng-tools");
    return err_set(ECHILD,
                   DAEMON " ended while it started (status %#x): run `" DAEMON
                          " --no-kernel -v` to see why",
                   (unsigned)status);
}

/* The daemon sends SIGUSR1 to its parent once clients can connect. */
static int start_daemon(struct lttng_session *session)
{
    sigset_t wanted;
    sigset_t before;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, &before);

    int result = 0;
    pid_t parent = getpid();
    session->daemon = fork();
    if (session->daemon == 0)
        become_daemon(parent);
    if (session->daemon < 0) {
        session->daemon = 0;
        result = err_set(errno, "cannot start " DAEMON ": %s", strerror(errno));
    }
    const struct timespec limit = {.tv_sec = DAEMON_START_SECONDS};
    while (result == 0) {
        siginfo_t info;
        int signal = sigtimedwait(&wanted, &info, &limit);
        if (signal == SIGUSR1)
            break;
        if (signal == SIGCHLD && info.si_pid == session->daemon)
            result = daemon_died(session);
        else if (signal < 0 && errno == EAGAIN)
            result = err_set(ETIMEDOUT, DAEMON " was not ready after %d s", DAEMON_START_SECONDS);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int lttng(const char *const *arguments)
{
    return run_command(arguments, "lttng-tools");
}

static int start_recording(struct lttng_session *session,
                           const struct lttng_session_options *options)
{
    char output[4200];
    char subbuffer_bytes[64];
    char subbuffers[64];
    snprintf(output, sizeof(output), "--output=%s", options->output);
    snprintf(subbuffer_bytes, sizeof(subbuffer_bytes), "--subbuf-size=%zu",
             options->subbuffer_bytes ? options->subbuffer_bytes : (size_t)4 << 20);
    snprintf(subbuffers, sizeof(subbuffers), "--num-subbuf=%u",
             options->subbuffers ? options->subbuffers : 8);

    int result = lttng((const char *const[]){"lttng", "create", "optrail", output,
                                             options->in_memory ? "--snapshot" : NULL, NULL});
    if (result < 0)
        return result;
    session->recording = true;
    result = lttng((const char *const[]){"lttng", "enable-channel", "-u", subbuffer_bytes,
                                         subbuffers, "optrail", NULL});
    for (size_t i = 0; result == 0 && options->events[i]; i++)
        result = lttng((const char *const[]){"lttng", "enable-event", "-u", "-c", "optrail",
                                             options->events[i], NULL});
    if (result == 0)
        result = lttng((const char *const[]){"lttng", "start", NULL});
    return result;
}

int lttng_session_open(const struct lttng_session_options *options, struct lttng_session **session)
{
    struct lttng_session *new_session = calloc(1, sizeof(*new_session));
    if (!new_session)
        return err_no_memory();
    int result = make_home(new_session);
    if (result == 0)
        result = hide_root_sockets();
    if (result == 0)
        result = start_daemon(new_session);
    if (result == 0)
        result = start_recording(new_session, options);
    if (result < 0) {
        lttng_session_close(new_session);
        return result;
    }
    *session = new_session;
    return 0;
}

int lttng_session_stop(struct lttng_session *session)
{
    if (!session->recording)
        return 0;
    session->recording = false;
    int result = lttng((const char *const[]){"lttng", "stop", NULL});
    int destroyed = lttng((const char *const[]){"lttng", "destroy", "optrail", NULL});
    return result < 0 ? result : destroyed;
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

void lttng_session_close(struct lttng_session *session)
{
    if (!session)
        return;
    lttng_session_stop(session);
    if (session->daemon) {
        kill(session->daemon, SIGTERM);
        if (!wait_for_daemon(session->daemon, DAEMON_STOP_SECONDS)) {
            kill(session->daemon, SIGKILL);
            waitpid(session->daemon, NULL, 0);
        }
    }
    if (session->home[0])
        remove_tree(session->home);
    free(session);
}
