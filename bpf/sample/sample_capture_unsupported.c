/* SPDX-License-Identifier: MIT */
/* What stands for the capture of samples in a build without eBPF. */
#include <errno.h>

#include "err.h"
#include "sample_capture.h"

int sample_capture_open(const struct sample_capture_options *options,
                        struct sample_capture **capture)
{
    (void)options;
    *capture = NULL;
    return err_set(ENOTSUP,
                   "this optrail was built without eBPF: build it where clang, bpftool and "
                   "/sys/kernel/btf/vmlinux are");
}

void sample_capture_close(struct sample_capture *capture)
{
    (void)capture;
}

int sample_capture_begin(struct sample_capture *capture)
{
    (void)capture;
    return sample_capture_open(NULL, &(struct sample_capture *){NULL});
}

int sample_capture_poll(struct sample_capture *capture, sample_callback *callback, void *context)
{
    (void)capture;
    (void)callback;
    (void)context;
    return sample_capture_open(NULL, &(struct sample_capture *){NULL});
}

int sample_capture_finish(struct sample_capture *capture, sample_callback *callback, void *context)
{
    return sample_capture_poll(capture, callback, context);
}

struct sample_counts sample_capture_counts(const struct sample_capture *capture)
{
    (void)capture;
    return (struct sample_counts){0};
}

bool sample_capture_ended(const struct sample_capture *capture)
{
    (void)capture;
    return true;
}

size_t sample_capture_gone(const struct sample_capture *capture, pid_t *pids, size_t size)
{
    (void)capture;
    (void)pids;
    (void)size;
    return 0;
}
