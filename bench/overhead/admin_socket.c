/* SPDX-License-Identifier: MIT */
#include "admin_socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "err.h"

/* An answer longer than this is none. */
#define MAX_ANSWER (16u << 20)
#define PATIENCE_S 10

static bool holds_socket(pid_t pid, unsigned long inode)
{
    char name[64], wanted[64], link[64];
    bool found = false;

    snprintf(name, sizeof(name), "/proc/%d/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    DIR *directory = opendir(name);
    for (const struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1);
        found = length > 0 && (size_t)length == strlen(wanted) &&
                memcmp(link, wanted, (size_t)length) == 0;
    }
    if (directory)
        closedir(directory);
    return found;
}

int admin_socket_find(pid_t pid, char *path, size_t size)
{
    char name[64], line[512], found[256];
    unsigned long inode;

    snprintf(name, sizeof(name), "/proc/%d/net/unix", pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return err_set(errno, "%s: %s", name, strerror(errno));
    *path = '\0';
    while (!*path && fgets(line, sizeof(line), file)) {
        /* Num RefCount Protocol Flags Type St Inode Path */
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %255s", &inode, found) != 2)
            continue;
        size_t length = strlen(found);
        if (length > 5 && strcmp(found + length - 5, ".asok") == 0 && holds_socket(pid, inode))
            snprintf(path, size, "/proc/%d/root%s", pid, found);
    }
    fclose(file);
    return *path ? 0 : err_set(ENOENT, "pid %d has no admin socket (a .asok)", pid);
}

static int transfer(int fd, const char *path, char *data, size_t size, bool out)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = out ? send(fd, data + done, size - done, MSG_NOSIGNAL)
                          : recv(fd, data + done, size - done, 0);
        if (got == 0)
            return err_set(EPIPE, "%s: the daemon has closed the connection", path);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(errno, "%s: %s", path, strerror(errno));
        done += (size_t)got;
    }
    return 0;
}

/* The command and a zero go out; four bytes of length, the highest first, and the text come. */
static int converse(int fd, const char *path, const char *command, char **answer)
{
    uint32_t length = 0;
    int result = transfer(fd, path, (char *)command, strlen(command) + 1, true);

    if (result == 0)
        result = transfer(fd, path, (char *)&length, sizeof(length), false);
    length = ntohl(length);
    if (result == 0 && length > MAX_ANSWER)
        result = err_set(EBADMSG, "%s: this is no admin socket", path);
    if (result < 0)
        return result;
    char *text = calloc(1, (size_t)length + 1);
    if (!text)
        return err_no_memory();
    result = transfer(fd, path, text, length, false);
    if (result < 0)
        free(text);
    else
        *answer = text;
    return result;
}

int admin_socket_ask(const char *path, const char *command, char **answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_S};

    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
        (int)sizeof(address.sun_path))
        return err_set(ENAMETOOLONG, "%s: the name is too long for a socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(errno, "cannot make a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    int result = connect(fd, (struct sockaddr *)&address, sizeof(address))
                     ? err_set(errno, "%s: %s", path, strerror(errno))
                     : converse(fd, path, command, answer);
    close(fd);
    return result;
}
