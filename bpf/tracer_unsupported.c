/* SPDX-License-Identifier: MIT */
/* What stands for the tracer in a build without eBPF. */
#include <errno.h>
#include <stdlib.h>

#include "err.h"
#include "tracer.h"
#include "tracer_group.h"

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

int tracer_begin(struct tracer *tracer)
{
    (void)tracer;
    return tracer_open(NULL, NULL, NULL, &tracer);
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

int tracer_group_open(const struct target *targets, size_t count,
                      const struct tracer_group_options *options, struct tracer_group **group)
{
    (void)targets;
    (void)count;
    (void)options;
    struct tracer *none;
    *group = NULL;
    return tracer_open(NULL, NULL, NULL, &none);
}

void tracer_group_close(struct tracer_group *group)
{
    (void)group;
}

int tracer_group_begin(struct tracer_group *group)
{
    (void)group;
    return tracer_open(NULL, NULL, NULL, &(struct tracer *){NULL});
}

struct event_feed *tracer_group_feed(struct tracer_group *group)
{
    (void)group;
    return NULL;
}

size_t tracer_group_size(const struct tracer_group *group)
{
    (void)group;
    return 0;
}

const struct tracer_member *tracer_group_member(const struct tracer_group *group, size_t member)
{
    (void)group;
    (void)member;
    return NULL;
}

struct tracer *tracer_group_tracer(struct tracer_group *group, size_t member)
{
    (void)group;
    (void)member;
    return NULL;
}

struct tracer_counts tracer_group_counts(struct tracer_group *group, size_t member)
{
    (void)group;
    (void)member;
    return (struct tracer_counts){0};
}

int tracer_group_find(const struct tracer_group *group, uint32_t pid)
{
    (void)group;
    (void)pid;
    return -1;
}

void tracer_group_span(const struct tracer_group *group, size_t member, uint64_t *begin_ns,
                       uint64_t *end_ns)
{
    (void)group;
    (void)member;
    *begin_ns = *end_ns = 0;
}

struct tracer_group_slices tracer_group_slices(const struct tracer_group *group)
{
    (void)group;
    return (struct tracer_group_slices){0};
}

int tracer_can_fold(void)
{
    return tracer_open(NULL, NULL, NULL, &(struct tracer *){NULL});
}

int tracer_fold_read(struct tracer *tracer, struct tracer_fold *fold)
{
    (void)tracer;
    *fold = (struct tracer_fold){0};
    return tracer_can_fold();
}

void tracer_fold_forget_slowest(struct tracer *tracer)
{
    (void)tracer;
}
