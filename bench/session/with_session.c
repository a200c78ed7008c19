/* SPDX-License-Identifier: MIT */
/*
 * with-lttng-session --output DIRECTORY -- COMMAND [ARGUMENT...]
 *
 * Runs a command while an LTTng session daemon of its own records every optrail event, then stops
 * the recording and leaves the trace in DIRECTORY. Its exit status is the command's.
 */
#include "err.h"
#include "lttng_session.h"
#include "name_provider.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t command_pid;

/* A terminal's Ctrl-C reaches the command by itself; what is sent to us alone is passed on. */
static void pass_on(int signal)
{
    if (command_pid > 0)
        kill((pid_t)command_pid, signal);
}

static int run(char **command)
{
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, NULL);

    pid_t pid = fork();
    if (pid < 0)
        return err_set(errno, "cannot start %s: %s", command[0], strerror(errno));
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        execvp(command[0], command);
        fprintf(stderr, "with-lttng-session: cannot run %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    command_pid = pid;
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    command_pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int usage(void)
{
    fprintf(stderr, "usage: with-lttng-session --output DIRECTORY -- COMMAND [ARGUMENT...]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option rows[] = {{"output", required_argument, NULL, 'o'}, {0}};
    static const char *const events[] = {"optrail:*", NULL};
    struct lttng_session_options options = {.events = events};
    int option;
    while ((option = getopt_long(argc, argv, "+o:", rows, NULL)) != -1) {
        if (option != 'o')
            return usage();
        options.output = optarg;
    }
    if (!options.output || optind >= argc)
        return usage();
    char *output = options.output[0] == '/' ? strdup(options.output) : NULL;
    char *here = output ? NULL : getcwd(NULL, 0);
    if (!output && (!here || asprintf(&output, "%s/%s", here, options.output) < 0))
        return 1;
    free(here);
    name_provider();
    options.output = output; /* the daemon that writes it has another working directory */

    struct lttng_session *session = NULL;
    int result = lttng_session_open(&options, &session);
    int status = result == 0 ? run(argv + optind) : 1;
    if (status < 0)
        result = status;
    if (session && result == 0)
        result = lttng_session_stop(session);
    lttng_session_close(session);
    free(output);
    if (result < 0)
        fprintf(stderr, "with-lttng-session: %s\n", err_message());
    return result < 0 ? 1 : status;
}
