/* SPDX-License-Identifier: MIT */
#include "load_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "err.h"

/* How long it may take to end when it is asked to. */
#define PATIENCE_MS 3000

struct load_command {
    pid_t pid;
    bool ended;
};

int load_command_start(char *const *words, struct load_command **result)
{
    struct load_command *load = calloc(1, sizeof(*load));
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    if (!load)
        return err_no_memory();
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(&load->pid, words[0], &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error) {
        free(load);
        return err_set(error, "cannot run %s: %s", words[0], strerror(error));
    }
    *result = load;
    return 0;
}

bool load_command_ended(struct load_command *load)
{
    if (!load->ended)
        load->ended = waitpid(load->pid, NULL, WNOHANG) == load->pid;
    return load->ended;
}

void load_command_stop(struct load_command *load)
{
    if (!load)
        return;
    kill(-load->pid, SIGTERM);
    for (int i = 0; i < PATIENCE_MS && !load_command_ended(load); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!load_command_ended(load)) {
        kill(-load->pid, SIGKILL);
        waitpid(load->pid, NULL, 0);
    }
    free(load);
}
