/* SPDX-License-Identifier: MIT */
/* What stands for the capture of locks in a build without eBPF. */
#include <errno.h>

#include "err.h"
#include "lock_capture.h"

bool lock_capture_supported(void)
{
    return false;
}

int lock_capture_open(const struct lock_capture_options *options, struct lock_capture **capture)
{
    (void)options;
    *capture = NULL;
    return err_set(ENOTSUP,
                   "this optrail was built without eBPF: build it where clang, bpftool and "
                   "/sys/kernel/btf/vmlinux are");
}

void lock_capture_close(struct lock_capture *capture)
{
    (void)capture;
}

int lock_capture_begin(struct lock_capture *capture)
{
    (void)capture;
    return lock_capture_open(NULL, &(struct lock_capture *){NULL});
}

int lock_capture_poll(struct lock_capture *capture, lock_wait_callback *callback, void *context)
{
    (void)capture;
    (void)callback;
    (void)context;
    return lock_capture_open(NULL, &(struct lock_capture *){NULL});
}

int lock_capture_finish(struct lock_capture *capture, lock_wait_callback *callback, void *context)
{
    return lock_capture_poll(capture, callback, context);
}

void lock_capture_pause(struct lock_capture *capture)
{
    (void)capture;
}

int lock_capture_resume(struct lock_capture *capture)
{
    (void)capture;
    return 0;
}

struct lock_capture_spent lock_capture_spent(const struct lock_capture *capture)
{
    (void)capture;
    return (struct lock_capture_spent){0};
}

const char *lock_capture_stack(struct lock_capture *capture, uint32_t stack, enum unwind_end *end)
{
    (void)capture;
    (void)stack;
    (void)end;
    return NULL;
}

struct lock_capture_counts lock_capture_counts(struct lock_capture *capture)
{
    (void)capture;
    return (struct lock_capture_counts){0};
}

uint64_t lock_capture_end_ns(const struct lock_capture *capture)
{
    (void)capture;
    return 0;
}

bool lock_capture_targets_ended(const struct lock_capture *capture)
{
    (void)capture;
    return true;
}
