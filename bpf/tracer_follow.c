/* SPDX-License-Identifier: MIT */
#include "tracer_follow.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

#define MAX_ARGUMENTS 65536

static ssize_t read_arguments(pid_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, size);
    close(fd);
    return got;
}

/* The executable's file and where the kernel has put its code and stack: exec changes at least the
 * last one. (start_code, end_code and start_stack are the fields 26 to 28 of stat.) */
static bool read_image(pid_t pid, char *image, size_t size)
{
    char path[64], line[1024];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    if (stat(path, &status))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool got = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    char *field = got ? strrchr(line, ')') : NULL;
    for (int i = 2; field && i < 26; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        return false;
    char *end = field;
    for (int i = 0; end && i < 3; i++)
        end = strchr(end + 1, ' ');
    int length = end ? (int)(end - field) : 0;
    snprintf(image, size, "%lx:%lx%.*s", (unsigned long)status.st_dev, (unsigned long)status.st_ino,
             length, field);
    return true;
}

int daemon_identity_read(pid_t pid, struct daemon_identity *identity)
{
    *identity = (struct daemon_identity){0};
    if (!read_image(pid, identity->image, sizeof(identity->image)))
        return err_set(ESRCH, "no process %d: optrail list shows the daemons that run", pid);
    identity->arguments = malloc(MAX_ARGUMENTS);
    if (!identity->arguments)
        return err_no_memory();
    ssize_t got = read_arguments(pid, identity->arguments, MAX_ARGUMENTS);
    if (got <= 0) {
        free(identity->arguments);
        identity->arguments = NULL;
        return 0;
    }
    identity->size = (size_t)got;
    return 0;
}

void daemon_identity_free(struct daemon_identity *identity)
{
    free(identity->arguments);
    *identity = (struct daemon_identity){0};
}

bool daemon_identity_same_image(const struct daemon_identity *identity, pid_t pid)
{
    char image[sizeof(identity->image)];
    return !read_image(pid, image, sizeof(image)) || strcmp(image, identity->image) == 0;
}

pid_t daemon_identity_find(const struct daemon_identity *identity, pid_t but_not)
{
    if (!identity->arguments)
        return 0;
    DIR *directory = opendir("/proc");
    char *arguments = malloc(MAX_ARGUMENTS);
    pid_t found = 0;
    const struct dirent *entry;
    while (directory && arguments && !found && (entry = readdir(directory))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char image[sizeof(identity->image)];
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == but_not)
            continue;
        ssize_t got = read_arguments(pid, arguments, MAX_ARGUMENTS);
        /* one that has ended and waits for its parent has no image */
        if (got == (ssize_t)identity->size &&
            memcmp(arguments, identity->arguments, identity->size) == 0 &&
            read_image(pid, image, sizeof(image)))
            found = pid;
    }
    free(arguments);
    if (directory)
        closedir(directory);
    return found;
}
