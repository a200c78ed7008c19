/* SPDX-License-Identifier: MIT */
#include "flow_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHIFT 10 /* 1 us */

void flow_levels_free(struct flow_levels *levels)
{
    free(levels->processes);
    *levels = (struct flow_levels){0};
}

static void join_sums(void *owner, size_t to, size_t from)
{
    struct flow_levels *levels = owner;
    levels->sums[to] += levels->sums[from];
    levels->sums[from] = 0;
}

void flow_levels_cover(struct flow_levels *levels, uint64_t begin_ns, uint64_t end_ns,
                       uint32_t shift)
{
    time_span_cover(&levels->span, FLOW_LEVELS, begin_ns, end_ns, shift, join_sums, levels);
}

static struct flow_process *process_of(struct flow_levels *levels, uint32_t pid)
{
    if (!levels->processes &&
        !(levels->processes = calloc(FLOW_LEVEL_PROCESSES, sizeof(*levels->processes))))
        return NULL;
    for (size_t i = pid * 0x9e3779b1u;; i++) {
        struct flow_process *process = &levels->processes[i % FLOW_LEVEL_PROCESSES];
        if (process->pid == pid)
            return process;
        if (process->pid != 0)
            continue;
        if (levels->process_count >= FLOW_LEVEL_PROCESSES / 4 * 3)
            return NULL;
        levels->process_count++;
        process->pid = pid;
        return process;
    }
}

static void add(struct flow_levels *levels, uint64_t level, uint64_t begin_ns, uint64_t end_ns)
{
    while (begin_ns < end_ns) {
        uint64_t window = begin_ns >> levels->span.shift;
        uint64_t border = (window + 1) << levels->span.shift;
        uint64_t until = border < end_ns ? border : end_ns;
        levels->sums[window - levels->span.base] += level * (until - begin_ns);
        begin_ns = until;
    }
}

void flow_levels_event(struct flow_levels *levels, uint32_t pid, bool begins, uint64_t now_ns)
{
    struct flow_process *process = pid ? process_of(levels, pid) : NULL;
    if (!process)
        return;
    if (now_ns < process->since_ns)
        now_ns = process->since_ns; /* a clock went back */
    flow_levels_cover(levels, now_ns, now_ns, FIRST_SHIFT);
    if (process->since_ns && process->level)
        add(levels, process->level, process->since_ns, now_ns);
    process->since_ns = now_ns;
    if (begins)
        process->level++;
    else
        process->level -= process->level > 0;
}

static int by_size(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

double flow_levels_quantile(const struct flow_levels *levels, double quantile)
{
    uint64_t sums[FLOW_LEVELS];
    if (!levels->span.any)
        return 0;
    size_t count = time_span_windows(&levels->span);
    memcpy(sums, levels->sums, count * sizeof(*sums));
    qsort(sums, count, sizeof(*sums), by_size);
    size_t rank = (size_t)ceil(quantile * (double)count);
    return (double)sums[rank > 0 ? rank - 1 : 0] / (double)((uint64_t)1 << levels->span.shift);
}

double flow_levels_middle(const struct flow_levels *levels)
{
    size_t count = time_span_windows(&levels->span), edge = count / 8;
    double sum = 0;
    for (size_t i = edge; i + edge < count; i++)
        sum += (double)levels->sums[i];
    double windows = (double)(count - 2 * edge);
    return count > 0 ? sum / windows / (double)((uint64_t)1 << levels->span.shift) : 0;
}
