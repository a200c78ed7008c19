/* SPDX-License-Identifier: MIT */
#include "sample_reason.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How the name of a function begins that tells what is waited for, one row each. The stack's first
 * frame that is in the table decides. */
struct reason_row {
    const char *begins;
    const char *reason;
    bool idle;
};

#define FUTEX "futex"

static const struct reason_row kernel_rows[] = {
    {"futex_", FUTEX, false},
    {"do_futex", FUTEX, false},
    {"ep_poll", "poll", true},
    {"do_epoll_wait", "poll", true},
    {"do_sys_poll", "poll", true},
    {"do_poll", "poll", true},
    {"do_select", "poll", true},
    {"do_sigtimedwait", "signal", true},
    {"sigsuspend", "signal", true},
    {"do_signal_stop", "stopped", false},
    {"do_wait", "child", true},
    {"hrtimer_nanosleep", "sleep", false},
    {"do_nanosleep", "sleep", false},
    {"io_schedule", "disk", false},
    {"blkdev_", "disk", false},
    {"submit_bio_wait", "disk", false},
    {"jbd2_", "disk", false},
    {"fuse_", "disk", false},
    {"read_events", "disk", false},
    {"io_cqring_wait", "disk", false},
    {"handle_mm_fault", "page fault", false},
    {"balance_dirty_pages", "disk", false},
    {"tcp_", "network", false},
    {"inet_", "network", false},
    {"unix_", "network", false},
    {"sock_", "network", false},
    {"sk_", "network", false},
    {"pipe_", "pipe", false},
    {"anon_pipe_", "pipe", false},
    {"eventfd_", "poll", true},
    {"rwsem_", "kernel lock", false},
    {"__mutex_lock", "kernel lock", false},
};

/* Of libc and of the C++ runtime; libc's names for itself have two underscores before that. */
static const struct reason_row user_rows[] = {
    {"pthread_cond_", "condvar", true},
    {"std::condition_variable::", "condvar", true},
    {"pthread_mutex_", "mutex", false},
    {"pthread_rwlock_rd", "rwlock, to read", false},
    {"pthread_rwlock_timedrd", "rwlock, to read", false},
    {"pthread_rwlock_", "rwlock, to write", false},
    {"pthread_spin", "spinlock", false},
    {"pthread_barrier_", "barrier", false},
    {"pthread_join", "join", true},
    {"pthread_timedjoin", "join", true},
    {"pthread_clockjoin", "join", true},
    {"sem_", "semaphore", true},
    {"malloc", "allocator", false},
    {"calloc", "allocator", false},
    {"realloc", "allocator", false},
    {"free", "allocator", false},
};

#define LOOK_AT_USER 8 /* frames; further out it is the program that speaks */

static const struct reason_row *find(const char *stack, const struct reason_row *rows, size_t count,
                                     size_t most)
{
    for (const char *frame = stack; frame && *frame && most > 0; most--) {
        const char *plain = strncmp(frame, "__pthread", 9) == 0 ? frame + 2 : frame;
        for (size_t i = 0; i < count; i++)
            if (strncmp(plain, rows[i].begins, strlen(rows[i].begins)) == 0)
                return &rows[i];
        frame = strchr(frame, ';');
        frame = frame ? frame + 1 : NULL;
    }
    return NULL;
}

struct wait_reason wait_reason_of(const char *kernel, const char *user, bool disk)
{
    const struct reason_row *row =
        find(kernel, kernel_rows, sizeof(kernel_rows) / sizeof(*kernel_rows), SIZE_MAX);
    /* without the kernel's names libc's may still tell */
    if (!row || strcmp(row->reason, FUTEX) == 0) {
        const struct reason_row *by_user =
            find(user, user_rows, sizeof(user_rows) / sizeof(*user_rows), LOOK_AT_USER);
        row = by_user ? by_user : row;
    }
    if (disk && (!row || row->idle || strcmp(row->reason, "kernel lock") == 0))
        return (struct wait_reason){.name = "disk"};
    return row ? (struct wait_reason){row->reason, row->idle}
               : (struct wait_reason){.name = "other"};
}
