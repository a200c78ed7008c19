/* SPDX-License-Identifier: MIT */
#include "run_command.h"

#include "err.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *const *arguments, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return code;
    code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    /* posix_spawnp takes non-const strings for historical reasons and changes none */
    if (!code)
        code = posix_spawnp(pid, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* The last line of what is in the file that is not empty; at most 255 bytes of it. */
static void last_line(int file, char line[256])
{
    line[0] = '\0';
    off_t end = lseek(file, 0, SEEK_END);
    off_t begin = end > 255 ? end - 255 : 0;
    ssize_t length = pread(file, line, 255, begin);
    if (length < 0)
        length = 0;
    while (length > 0 && line[length - 1] == '\n')
        length--;
    line[length] = '\0';
    char *newline = strrchr(line, '\n');
    if (newline)
        memmove(line, newline + 1, strlen(newline + 1) + 1);
}

int run_command(const char *const *arguments, const char *package)
{
    int output = memfd_create("output", MFD_CLOEXEC);
    if (output < 0)
        return err_set(errno, "cannot run %s: %s", arguments[0], strerror(errno));
    int result = 0;
    int status = 0;
    pid_t pid = 0;
    int code = spawn(arguments, output, &pid);
    if (code == ENOENT)
        result = err_set(code, "%s is not installed: apt-get install %s", arguments[0], package);
    else if (code)
        result = err_set(code, "cannot run %s: %s", arguments[0], strerror(code));
    else if (waitpid(pid, &status, 0) < 0)
        result = err_set(errno, "cannot wait for %s: %s", arguments[0], strerror(errno));
    else if (status != 0) {
        char line[256];
        last_line(output, line);
        result = err_set(EIO, "`%s %s` failed: %s", arguments[0], arguments[1] ? arguments[1] : "",
                         line[0] ? line : "it said nothing");
    }
    close(output);
    return result;
}
