/* SPDX-License-Identifier: MIT */
#include "process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file as a place, without opening it: O_PATH. */
static int find(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (place >= 0 || (errno != ENOSYS && errno != EPERM))
        return place;
    /* Linux before 5.6, or a sandbox that does not know the call: links may lead out of the root,
     * but what is found there is still looked at before it is opened */
    while (*path == '/')
        path++;
    return openat(root, path, O_PATH | O_CLOEXEC);
}

static bool is_small_file(int place)
{
    struct stat status;
    return fstat(place, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
           status.st_size <= PROCESS_FILE_SIZE;
}

FILE *process_file_open(pid_t pid, const char *path)
{
    char name[64];
    if (path[0] != '/')
        return NULL;
    snprintf(name, sizeof(name), "/proc/%d/root", pid);
    int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return NULL;
    int place = find(root, path);
    close(root);
    if (place < 0)
        return NULL;
    int fd = -1;
    if (is_small_file(place)) {
        /* the very file that was looked at */
        snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
        fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
    close(place);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}
