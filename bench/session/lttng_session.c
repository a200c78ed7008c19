/* SPDX-License-Identifier: MIT */
#include "lttng_session.h"

#include "err.h"
#include "run_command.h"
#include "session_daemon.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_SOCKETS "/run/lttng"
#define DAEMON       "lttng-sessiond"

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
        result = session_daemon_start(&new_session->daemon);
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

void lttng_session_close(struct lttng_session *session)
{
    if (!session)
        return;
    lttng_session_stop(session);
    if (session->daemon)
        session_daemon_stop(session->daemon);
    if (session->home[0])
        remove_tree(session->home);
    free(session);
}
