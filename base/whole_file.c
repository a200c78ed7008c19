/* SPDX-License-Identifier: MIT */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, text, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        text += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Writes to what is there, or makes it. */
static int write_in_place(const char *file, const char *text, size_t size)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int rc = write_all(fd, text, size);
    /* a full disk may show only now */
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int replace(const char *file, const struct stat *old, const char *text, size_t size)
{
    char beside[PATH_MAX + 32];
    int length = snprintf(beside, sizeof(beside), "%s.new-%ld", file, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof(beside))
        return -ENAMETOOLONG;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && old && (errno == EACCES || errno == EPERM))
        return write_in_place(file, text, size); /* the file may be changed, its directory not */
    if (fd < 0)
        return -errno;
    int rc = write_all(fd, text, size);
    /* root writes for others: the owner stays where that is allowed; then the rights, which a new
     * owner may lose */
    if (rc == 0 && old && fchown(fd, old->st_uid, old->st_gid) < 0)
        errno = 0;
    if (rc == 0 && old && fchmod(fd, old->st_mode & 07777) < 0)
        rc = -errno;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(beside, file) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(beside);
    return rc;
}

int whole_file_write(const char *file, const char *text, size_t size)
{
    char target[PATH_MAX];
    struct stat status;
    if (lstat(file, &status) < 0)
        return replace(file, NULL, text, size);
    if (S_ISLNK(status.st_mode) && realpath(file, target) && stat(target, &status) == 0)
        file = target;
    return S_ISREG(status.st_mode) ? replace(file, &status, text, size)
                                   : write_in_place(file, text, size);
}
