/* SPDX-License-Identifier: MIT */
#include "tracepoint_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "err.h"

static int read_number(int directory, const char *path)
{
    char text[32] = "";
    int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    ssize_t got = read(file, text, sizeof(text) - 1);
    close(file);
    return got > 0 ? atoi(text) : -EIO;
}

/* A tracefs without a place in the tree: nobody else sees it, and it goes with the descriptor. */
static int open_tracefs(void)
{
    int context = fsopen("tracefs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int root = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0)
                   ? -1
                   : fsmount(context, FSMOUNT_CLOEXEC, 0);
    int error = root < 0 ? -errno : root;
    close(context);
    return error;
}

int tracepoint_id(const char *group, const char *name)
{
    static const char *const mounted[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    char path[256];
    for (size_t i = 0; i < sizeof(mounted) / sizeof(mounted[0]); i++) {
        snprintf(path, sizeof(path), "%s/events/%s/%s/id", mounted[i], group, name);
        int id = read_number(AT_FDCWD, path);
        if (id > 0)
            return id;
    }
    int root = open_tracefs();
    int id = root;
    if (root >= 0) {
        snprintf(path, sizeof(path), "events/%s/%s/id", group, name);
        id = read_number(root, path);
        close(root);
    }
    if (id > 0)
        return id;
    return err_set(id == -ENOENT ? ENOTSUP : -id, "cannot find the kernel's tracepoint %s:%s: %s",
                   group, name,
                   id == -ENOENT ? "it must be built with CONFIG_FTRACE_SYSCALLS" : strerror(-id));
}
