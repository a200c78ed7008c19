/* SPDX-License-Identifier: MIT */
#include "uprobe_link.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"

/*
 * Probes are put in by a process of their own, the holder, and go when it ends.
 *
 * The kernel cannot take a breakpoint out while a fatal signal waits for the process that asks for
 * it: reading the other program's page fails then, and it leaves the breakpoint where it is
 * ("uprobe unregister failed, leaking uprobe": uprobe_unregister_nosync() in
 * kernel/events/uprobes.c). So a tracer that is killed while it attaches or detaches would leave
 * its probes behind. A process that is ending is past such signals. So nothing is ever detached but
 * by the end of a holder, which ends as soon as this process says so or is gone.
 */
struct uprobe_link {
    pid_t holder;
    int control; /* closing it lets the holder end */
    bool multi;
};

/* What a holder has to do. Everything is made ready before the fork: behind it only system calls
 * may be used, since this process may have threads. */
struct holding {
    bool multi;
    int program; /* file descriptor */
    uint32_t pid;
    bool all_processes;
    int file;
    char path[32]; /* of `file`, for whoever has it open */
    const struct uprobe_place *places;
    size_t count;
    uint64_t *columns; /* offsets, semaphores, cookies */
    bool semaphores;
    uint32_t perf_type;
};

/* The parts of union bpf_attr that make links: of uprobe_multi as Linux 6.6 brought it ("bpf: Add
 * multi uprobe link", "bpf: Add pid filter support for uprobe_multi link"), of a perf event from
 * Linux 5.15 on. Debian 12's headers do not know the first one yet. */
struct link_attr {
    uint32_t prog_fd;
    uint32_t target_fd;
    uint32_t attach_type;
    uint32_t flags;
    union {
        struct {
            uint64_t path;
            uint64_t offsets;
            uint64_t semaphore_offsets;
            uint64_t cookies;
            uint32_t count;
            uint32_t multi_flags;
            uint32_t pid;
            uint32_t unused;
        } multi;
        uint64_t perf_cookie;
    };
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

/* The rights that the root of a user namespace has there are none outside of it. The initial one
 * has all numbers as they are. */
static bool is_user_namespace(void)
{
    unsigned inside, outside, count;
    FILE *file = fopen("/proc/self/uid_map", "re");
    bool initial =
        !file || fscanf(file, "%u %u %u", &inside, &outside, &count) != 3 || count == UINT32_MAX;
    if (file)
        fclose(file);
    return !initial;
}

int uprobe_refused(int error, const char *what)
{
    if ((error == -EPERM || error == -EACCES) && is_locked_down())
        return err_set(EPERM,
                       "%s: the kernel is locked down (" LOCKDOWN
                       " says confidentiality), and then "
                       "no program may read another one's memory",
                       what);
    if ((error == -EPERM || error == -EACCES) && is_user_namespace())
        return err_set(EPERM,
                       "%s: not permitted to the root of a user namespace, a container's for "
                       "instance: run it as root outside",
                       what);
    if (error == -EPERM || error == -EACCES)
        return err_set(EPERM,
                       "%s: not permitted: tracing needs root, or the capabilities CAP_BPF, "
                       "CAP_PERFMON and CAP_SYS_PTRACE",
                       what);
    return err_set(-error, "%s: %s", what, strerror(-error));
}

int uprobe_load_refused(int error)
{
    if (error == -EACCES)
        return err_set(EACCES,
                       "the kernel's verifier refuses the BPF programs: uprobes with cookies "
                       "need Linux 5.15 or later");
    return uprobe_refused(error, "cannot load the BPF programs");
}

/* In the holder */

static int hold_multi(const struct holding *work)
{
    struct link_attr attr = {
        .prog_fd = (uint32_t)work->program,
        .attach_type = UPROBE_ATTACH_MULTI,
        .multi = {.path = (uintptr_t)work->path,
                  .offsets = (uintptr_t)work->columns,
                  .semaphore_offsets =
                      work->semaphores ? (uintptr_t)(work->columns + work->count) : 0,
                  .cookies = (uintptr_t)(work->columns + 2 * work->count),
                  .count = (uint32_t)work->count,
                  .pid = work->all_processes ? 0 : work->pid},
    };
    return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int hold_single(const struct holding *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct perf_event_attr event = {
            .size = sizeof(event),
            .type = work->perf_type,
            /* the kernel's PMU uprobe takes the semaphore from the upper half */
            .config = work->places[i].semaphore_offset << 32,
            .config1 = (uintptr_t)work->path,
            .config2 = work->places[i].offset,
        };
        int fd = (int)syscall(SYS_perf_event_open, &event, work->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0)
            return -errno;
        struct link_attr attr = {.prog_fd = (uint32_t)work->program,
                                 .target_fd = (uint32_t)fd,
                                 .attach_type = BPF_PERF_EVENT,
                                 .perf_cookie = work->places[i].cookie};
        if (syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ||
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
            return -errno;
    }
    return 0;
}

/* Keeps nothing open that it has from this process but what it needs: a ring or a map lives as long
 * as anybody has it open. */
static void close_all_but(const int *keep, size_t count)
{
    int from = 0;
    for (;;) {
        int next = -1; /* the lowest of those that are left */
        for (size_t i = 0; i < count; i++)
            if (keep[i] >= from && (next < 0 || keep[i] < next))
                next = keep[i];
        if (next < 0)
            break;
        if (next > from)
            syscall(SYS_close_range, from, next - 1, 0);
        from = next + 1;
    }
    syscall(SYS_close_range, from, ~0u, 0);
}

/* Puts the probes in, tells the result, and waits to be let go. */
static void __attribute__((noreturn)) hold(const struct holding *work, int control, int answer)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    char byte;
    setsid(); /* out of reach of the terminal's Ctrl-C */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGTERM, &ignore, NULL);
    sigaction(SIGHUP, &ignore, NULL);
    close_all_but((const int[]){control, answer, work->program, work->file}, 4);
    int result = work->multi ? hold_multi(work) : hold_single(work);
    close(work->program);
    close(work->file);
    if (write(answer, &result, sizeof(result)) == (ssize_t)sizeof(result) && result == 0) {
        close(answer);
        while (read(control, &byte, 1) < 0 && errno == EINTR)
            ;
    }
    _exit(0);
}

/* In this process */

/* The number of the kernel's PMU for uprobes. */
static int perf_type(uint32_t *type)
{
    static const char file[] = "/sys/bus/event_source/devices/uprobe/type";
    FILE *in = fopen(file, "re");
    char line[32];
    bool got = in && fgets(line, sizeof(line), in);
    if (in)
        fclose(in);
    if (!got)
        return err_set(ENOTSUP, "this kernel has no uprobes (%s cannot be read)", file);
    *type = (uint32_t)strtoul(line, NULL, 10);
    return 0;
}

static int prepare(struct holding *work, const struct uprobe_programs *programs)
{
    work->program = bpf_program__fd(work->multi ? programs->multi : programs->single);
    if (!work->multi)
        return perf_type(&work->perf_type);
    work->columns = calloc(3 * work->count, sizeof(*work->columns));
    if (!work->columns)
        return err_no_memory();
    for (size_t i = 0; i < work->count; i++) {
        work->columns[i] = work->places[i].offset;
        work->columns[work->count + i] = work->places[i].semaphore_offset;
        work->columns[2 * work->count + i] = work->places[i].cookie;
        work->semaphores |= work->places[i].semaphore_offset != 0;
    }
    return 0;
}

static int start_holder(const struct holding *work, struct uprobe_link *link, int *answer)
{
    int control[2], answers[2];
    if (pipe2(control, O_CLOEXEC))
        return err_set(errno, "cannot make a pipe: %s", strerror(errno));
    if (pipe2(answers, O_CLOEXEC)) {
        int error = err_set(errno, "cannot make a pipe: %s", strerror(errno));
        close(control[0]);
        close(control[1]);
        return error;
    }
    link->holder = fork();
    if (link->holder == 0)
        hold(work, control[0], answers[1]);
    int error = link->holder < 0 ? err_set(errno, "cannot start a process to hold the probes: %s",
                                           strerror(errno))
                                 : 0;
    close(control[0]);
    close(answers[1]);
    link->control = control[1];
    *answer = answers[0];
    return error;
}

int uprobe_link_attach(const struct uprobe_programs *programs, int file, pid_t pid,
                       const struct uprobe_place *places, size_t count, struct uprobe_link **result)
{
    *result = NULL;
    struct holding work = {.multi = programs->multi != NULL,
                           .pid = (uint32_t)pid,
                           .all_processes = programs->all_processes,
                           .file = file,
                           .places = places,
                           .count = count};
    snprintf(work.path, sizeof(work.path), "/proc/self/fd/%d", file);
    struct uprobe_link *link = calloc(1, sizeof(*link));
    if (!link)
        return err_no_memory();
    link->multi = work.multi;
    link->control = -1;
    int answer = -1, refused = -ECHILD;
    int error = prepare(&work, programs);
    if (!error)
        error = start_holder(&work, link, &answer);
    if (!error) {
        ssize_t got;
        while ((got = read(answer, &refused, sizeof(refused))) < 0 && errno == EINTR)
            ;
        if (got != (ssize_t)sizeof(refused))
            refused = -ECHILD; /* it was killed */
        if (refused)
            error = uprobe_refused(refused, "cannot attach the probes");
    }
    if (answer >= 0)
        close(answer);
    free(work.columns);
    if (error)
        uprobe_link_detach(link);
    else
        *result = link;
    return error;
}

void uprobe_link_detach_all(struct uprobe_link *const *links, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (links[i] && links[i]->control >= 0)
            close(links[i]->control);
    for (size_t i = 0; i < count; i++) {
        if (links[i] && links[i]->holder > 0)
            while (waitpid(links[i]->holder, NULL, 0) < 0 && errno == EINTR)
                ;
        free(links[i]);
    }
}

void uprobe_link_detach(struct uprobe_link *link)
{
    uprobe_link_detach_all(&link, 1);
}

bool uprobe_link_is_multi(const struct uprobe_link *link)
{
    return link->multi;
}
