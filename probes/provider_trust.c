/* SPDX-License-Identifier: MIT */
#include "provider_file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Never waits for the other end of a FIFO, never makes a terminal ours. */
#define OPEN_FILE      (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define OPEN_DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* An access control list that lets anybody else write shows in the group's bits, as its mask. */
static bool is_trusted(const struct stat *status)
{
    return (status->st_uid == 0 || status->st_uid == geteuid()) &&
           !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static int keep_if(int file, bool is_wanted)
{
    if (is_wanted || file < 0)
        return file;
    close(file);
    return -1;
}

int optrail_provider_open(const char *path)
{
    struct stat status;
    int file = open(path, OPEN_FILE);
    return keep_if(file, file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode));
}

int optrail_provider_open_trusted(const char *path)
{
    char names[PATH_MAX];
    struct stat status;
    size_t length = strlen(path);
    if (path[0] != '/' || length >= sizeof(names))
        return -1;
    memcpy(names, path, length + 1);

    int place = open("/", OPEN_DIRECTORY);
    char *rest = NULL;
    char *name = strtok_r(names, "/", &rest);
    while (name && place >= 0) {
        char *next = strtok_r(NULL, "/", &rest);
        int inner = -1;
        if (fstat(place, &status) == 0 && is_trusted(&status))
            inner = openat(place, name, next ? OPEN_DIRECTORY : OPEN_FILE | O_NOFOLLOW);
        close(place);
        place = inner;
        name = next;
    }
    return keep_if(place, place >= 0 && fstat(place, &status) == 0 && is_trusted(&status) &&
                              S_ISREG(status.st_mode));
}
