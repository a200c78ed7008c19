/* SPDX-License-Identifier: MIT */
#include "sample_reason.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How the name of a function begins that tells what is waited for, one row each. The stack's first
 * frame that is in the table decides. */
struct reason_row {
    const char *begins;
    enum sample_reason reason;
};

static const struct reason_row kernel_rows[] = {
    {"futex_", SAMPLE_REASON_futex},
    {"do_futex", SAMPLE_REASON_futex},
    {"ep_poll", SAMPLE_REASON_poll},
    {"do_epoll_wait", SAMPLE_REASON_poll},
    {"do_sys_poll", SAMPLE_REASON_poll},
    {"do_poll", SAMPLE_REASON_poll},
    {"do_select", SAMPLE_REASON_poll},
    {"do_sigtimedwait", SAMPLE_REASON_signal},
    {"sigsuspend", SAMPLE_REASON_signal},
    {"do_signal_stop", SAMPLE_REASON_stopped},
    {"do_wait", SAMPLE_REASON_child},
    {"hrtimer_nanosleep", SAMPLE_REASON_sleep},
    {"do_nanosleep", SAMPLE_REASON_sleep},
    {"io_schedule", SAMPLE_REASON_disk},
    {"blkdev_", SAMPLE_REASON_disk},
    {"submit_bio_wait", SAMPLE_REASON_disk},
    {"jbd2_", SAMPLE_REASON_disk},
    {"fuse_", SAMPLE_REASON_disk},
    {"read_events", SAMPLE_REASON_disk},
    {"io_cqring_wait", SAMPLE_REASON_disk},
    {"handle_mm_fault", SAMPLE_REASON_page_fault},
    {"balance_dirty_pages", SAMPLE_REASON_disk},
    {"tcp_", SAMPLE_REASON_network},
    {"inet_", SAMPLE_REASON_network},
    {"unix_", SAMPLE_REASON_network},
    {"sock_", SAMPLE_REASON_network},
    {"sk_", SAMPLE_REASON_network},
    {"pipe_", SAMPLE_REASON_pipe},
    {"anon_pipe_", SAMPLE_REASON_pipe},
    {"eventfd_", SAMPLE_REASON_poll},
    {"rwsem_", SAMPLE_REASON_kernel_lock},
    {"__mutex_lock", SAMPLE_REASON_kernel_lock},
};

/* Of libc and of the C++ runtime; libc's names for itself have two underscores before that. */
static const struct reason_row user_rows[] = {
    {"pthread_cond_", SAMPLE_REASON_condvar},
    {"std::condition_variable::", SAMPLE_REASON_condvar},
    {"pthread_mutex_", SAMPLE_REASON_mutex},
    {"pthread_rwlock_rd", SAMPLE_REASON_rwlock_read},
    {"pthread_rwlock_timedrd", SAMPLE_REASON_rwlock_read},
    {"pthread_rwlock_", SAMPLE_REASON_rwlock_write},
    {"pthread_spin", SAMPLE_REASON_spinlock},
    {"pthread_barrier_", SAMPLE_REASON_barrier},
    {"pthread_join", SAMPLE_REASON_join},
    {"pthread_timedjoin", SAMPLE_REASON_join},
    {"pthread_clockjoin", SAMPLE_REASON_join},
    {"sem_", SAMPLE_REASON_semaphore},
    {"malloc", SAMPLE_REASON_allocator},
    {"calloc", SAMPLE_REASON_allocator},
    {"realloc", SAMPLE_REASON_allocator},
    {"free", SAMPLE_REASON_allocator},
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

enum sample_reason sample_reason_of(const char *kernel, const char *user, bool disk)
{
    const struct reason_row *row =
        find(kernel, kernel_rows, sizeof(kernel_rows) / sizeof(*kernel_rows), SIZE_MAX);
    /* without the kernel's names libc's may still tell */
    if (!row || row->reason == SAMPLE_REASON_futex) {
        const struct reason_row *by_user =
            find(user, user_rows, sizeof(user_rows) / sizeof(*user_rows), LOOK_AT_USER);
        row = by_user ? by_user : row;
    }
    enum sample_reason reason = row ? row->reason : SAMPLE_REASON_other;
    /* a lock of the kernel is waited for as uninterruptibly: malloc that grows its heap, say */
    if (disk && (!row || sample_reason_rows[reason].idle))
        return SAMPLE_REASON_disk;
    return reason;
}
