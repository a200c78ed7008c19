/* SPDX-License-Identifier: MIT */
#include "uprobe_link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
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

#define LOCKDOWN "/sys/kernel/security/lockdown"

/* "none integrity [confidentiality]": the brackets show what is on. */
static bool is_locked_down(void)
{
    char line[128] = "";
    FILE *file = fopen(LOCKDOWN, "re");
    bool got = file && fgets(line, sizeof(line), file);
    if (file)
        fclose(file);
    return got && strstr(line, "[confidentiality]");
}

int uprobe_refused(int error, const char *what)
{
    if ((error == -EPERM || error == -EACCES) && is_locked_down())
        return err_set(EPERM,
                       "%s: the kernel is locked down (" LOCKDOWN
                       " says confidentiality), and then "
                       "no program may read another one's memory",
                       what);
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

/* More than so many at once gain nothing. */
#define DETACHERS 32

/* What is to be closed: the descriptors of multi links, and the others. */
struct detaching {
    size_t count;
    struct {
        int fd; /* -1: it is the link */
        struct bpf_link *link;
    } * parts;
    atomic_size_t next;
};

static void *detach_parts(void *argument)
{
    struct detaching *work = argument;
    for (;;) {
        size_t at = atomic_fetch_add(&work->next, 1);
        if (at >= work->count)
            return NULL;
        if (work->parts[at].fd >= 0)
            close(work->parts[at].fd);
        else
            bpf_link__destroy(work->parts[at].link);
    }
}

/* Gathers them. Without memory they are closed one after the other, here. */
static void gather(struct detaching *work, struct uprobe_link *const *links, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most += links[i] ? 1 + links[i]->count : 0;
    work->parts = most ? calloc(most, sizeof(*work->parts)) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct uprobe_link *link = links[i];
        if (!link)
            continue;
        if (!work->parts && link->fd >= 0)
            close(link->fd);
        else if (link->fd >= 0)
            work->parts[work->count++].fd = link->fd;
        for (size_t j = 0; j < link->count; j++) {
            if (!work->parts) {
                bpf_link__destroy(link->links[j]);
                continue;
            }
            work->parts[work->count].fd = -1;
            work->parts[work->count++].link = link->links[j];
        }
    }
}

void uprobe_link_detach_all(struct uprobe_link *const *links, size_t count)
{
    struct detaching work = {0};
    pthread_t threads[DETACHERS];
    size_t running = 0;
    gather(&work, links, count);
    while (running + 1 < work.count && running < DETACHERS &&
           pthread_create(&threads[running], NULL, detach_parts, &work) == 0)
        running++;
    detach_parts(&work);
    for (size_t i = 0; i < running; i++)
        pthread_join(threads[i], NULL);
    free(work.parts);
    for (size_t i = 0; i < count; i++) {
        if (links[i])
            free(links[i]->links);
        free(links[i]);
    }
}

void uprobe_link_detach(struct uprobe_link *link)
{
    uprobe_link_detach_all(&link, 1);
}

bool uprobe_link_is_multi(const struct uprobe_link *link)
{
    return link->fd >= 0;
}
