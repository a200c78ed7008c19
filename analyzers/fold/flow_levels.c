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

static void halve(struct flow_levels *levels)
{
    uint64_t odd = levels->base % 2;
    for (size_t i = 0; i < FLOW_LEVELS; i++) {
        uint64_t sum = levels->sums[i];
        levels->sums[i] = 0;
        levels->sums[(i + odd) / 2] += sum;
    }
    levels->base /= 2;
    levels->shift++;
}

void flow_levels_cover(struct flow_levels *levels, uint64_t begin_ns, uint64_t end_ns,
                       uint32_t shift)
{
    if (!levels->any) {
        levels->any = true;
        levels->shift = FIRST_SHIFT;
        levels->first_ns = begin_ns;
        levels->last_ns = end_ns;
        levels->base = begin_ns >> FIRST_SHIFT;
    }
    if (begin_ns < levels->first_ns)
        levels->first_ns = begin_ns;
    if (end_ns > levels->last_ns)
        levels->last_ns = end_ns;
    while (levels->shift < shift ||
           (levels->last_ns >> levels->shift) - (levels->first_ns >> levels->shift) >= FLOW_LEVELS)
        halve(levels);
    uint64_t base = levels->first_ns >> levels->shift;
    if (base >= levels->base)
        return;
    uint64_t by = levels->base - base;
    memmove(levels->sums + by, levels->sums, (FLOW_LEVELS - by) * sizeof(*levels->sums));
    memset(levels->sums, 0, by * sizeof(*levels->sums));
    levels->base = base;
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
        uint64_t window = begin_ns >> levels->shift;
        uint64_t border = (window + 1) << levels->shift;
        uint64_t until = border < end_ns ? border : end_ns;
        levels->sums[window - levels->base] += level * (until - begin_ns);
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
    flow_levels_cover(levels, now_ns, now_ns, 0);
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
    if (!levels->any)
        return 0;
    size_t count = (size_t)((levels->last_ns >> levels->shift) - levels->base) + 1;
    memcpy(sums, levels->sums, count * sizeof(*sums));
    qsort(sums, count, sizeof(*sums), by_size);
    size_t rank = (size_t)ceil(quantile * (double)count);
    return (double)sums[rank > 0 ? rank - 1 : 0] / (double)((uint64_t)1 << levels->shift);
}
