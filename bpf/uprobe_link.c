/* SPDX-License-Identifier: MIT */
#include "uprobe_link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"

/* The part of union bpf_attr that makes a uprobe_multi link, as Linux 6.6 brought it ("bpf: Add
 * multi uprobe link", "bpf: Add pid filter support for uprobe_multi link"). Debian 12's headers and
 * its libbpf do not know it yet. */
struct uprobe_multi_attr {
    uint32_t prog_fd;
    uint32_t target_fd;
    uint32_t attach_type;
    uint32_t flags;
    uint64_t path;
    uint64_t offsets;
    uint64_t semaphore_offsets;
    uint64_t cookies;
    uint32_t count;
    uint32_t multi_flags;
    uint32_t pid;
    uint32_t unused;
};
#define ATTACH_TYPE_UPROBE_MULTI 48

struct uprobe_link {
    int fd; /* the multi link; -1: none */
    size_t count;
    struct bpf_link **links; /* the others; owned */
};

int uprobe_refused(int error, const char *what)
{
    if (error == -EPERM || error == -EACCES)
        return err_set(EPERM,
                       "%s: not permitted: tracing needs root, or the capabilities CAP_BPF, "
                       "CAP_PERFMON and CAP_SYS_PTRACE",
                       what);
    return err_set(-error, "%s: %s", what, strerror(-error));
}

static int attach_multi(const struct uprobe_programs *programs, const char *file, pid_t pid,
                        const struct uprobe_place *places, size_t count, struct uprobe_link *link)
{
    uint64_t *columns = calloc(3 * count, sizeof(*columns));
    if (!columns)
        return err_no_memory();
    bool semaphores = false;
    for (size_t i = 0; i < count; i++) {
        columns[i] = places[i].offset;
        columns[count + i] = places[i].semaphore_offset;
        columns[2 * count + i] = places[i].cookie;
        semaphores |= places[i].semaphore_offset != 0;
    }
    struct uprobe_multi_attr attr = {
        .prog_fd = (uint32_t)bpf_program__fd(programs->multi),
        .attach_type = ATTACH_TYPE_UPROBE_MULTI,
        .path = (uintptr_t)file,
        .offsets = (uintptr_t)columns,
        .semaphore_offsets = semaphores ? (uintptr_t)(columns + count) : 0,
        .cookies = (uintptr_t)(columns + 2 * count),
        .count = (uint32_t)count,
        .pid = programs->all_processes ? 0 : (uint32_t)pid,
    };
    link->fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
    int error = link->fd < 0 ? -errno : 0;
    free(columns);
    return error;
}

static int attach_single(const struct uprobe_programs *programs, const char *file, pid_t pid,
                         const struct uprobe_place *places, size_t count, struct uprobe_link *link)
{
    link->links = calloc(count, sizeof(struct bpf_link *));
    if (!link->links)
        return err_no_memory();
    for (size_t i = 0; i < count; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = places[i].semaphore_offset,
                    .bpf_cookie = places[i].cookie);
        struct bpf_link *one = bpf_program__attach_uprobe_opts(programs->single, pid, file,
                                                               places[i].offset, &options);
        if (!one)
            return -errno;
        link->links[link->count++] = one;
    }
    return 0;
}

int uprobe_link_attach(const struct uprobe_programs *programs, const char *file, pid_t pid,
                       const struct uprobe_place *places, size_t count, struct uprobe_link **result)
{
    *result = NULL;
    struct uprobe_link *link = calloc(1, sizeof(*link));
    if (!link)
        return err_no_memory();
    link->fd = -1;
    int error = programs->multi ? attach_multi(programs, file, pid, places, count, link)
                                : attach_single(programs, file, pid, places, count, link);
    if (error) {
        uprobe_link_detach(link);
        return uprobe_refused(error, "cannot attach the probes");
    }
    *result = link;
    return 0;
}

void uprobe_link_detach(struct uprobe_link *link)
{
    if (!link)
        return;
    if (link->fd >= 0)
        close(link->fd);
    for (size_t i = 0; i < link->count; i++)
        bpf_link__destroy(link->links[i]);
    free(link->links);
    free(link);
}

bool uprobe_link_is_multi(const struct uprobe_link *link)
{
    return link->fd >= 0;
}
