/* SPDX-License-Identifier: MIT */
/* What stands for the tracer in a build without eBPF. */
#include <errno.h>
#include <stdlib.h>

#include "err.h"
#include "tracer.h"

bool tracer_supported(void)
{
    return false;
}

int tracer_open(const struct target *target, const struct probe_map *map,
                const struct tracer_options *options, struct tracer **tracer)
{
    (void)target;
    (void)map;
    (void)options;
    *tracer = NULL;
    return err_set(ENOTSUP,
                   "this optrail was built without eBPF: build it where clang, bpftool and "
                   "/sys/kernel/btf/vmlinux are");
}

void tracer_close(struct tracer *tracer)
{
    (void)tracer;
}

struct event_feed *tracer_feed(struct tracer *tracer)
{
    (void)tracer;
    return NULL;
}

void tracer_stop(struct tracer *tracer)
{
    (void)tracer;
}

const struct tracer_site *tracer_sites(struct tracer *tracer, size_t *count)
{
    (void)tracer;
    *count = 0;
    return NULL;
}

struct tracer_counts tracer_counts(struct tracer *tracer)
{
    (void)tracer;
    return (struct tracer_counts){0};
}

bool tracer_target_exited(const struct tracer *tracer)
{
    (void)tracer;
    return false;
}

const char *tracer_method(const struct tracer *tracer)
{
    (void)tracer;
    return "";
}
