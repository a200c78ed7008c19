/* SPDX-License-Identifier: MIT */
#include "tail_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "err.h"

struct tail_sums *tail_sums_new(const struct op_type *type)
{
    struct tail_sums *sums = calloc(1, sizeof(*sums));
    if (!sums || time_windows_init(&sums->windows, TAIL_WINDOWS, COARSE_BUCKETS) < 0) {
        err_no_memory();
        free(sums);
        return NULL;
    }
    sums->type = *type;
    if (type->path) {
        sums->stage_count = type->path->stage_count;
        sweep_plan_init(&sums->plan, type->path);
    }
    return sums;
}

void tail_sums_free(struct tail_sums *sums)
{
    if (!sums)
        return;
    for (size_t i = 0; i < COARSE_BUCKETS; i++)
        free(sums->stages[i]);
    time_windows_free(&sums->windows);
    free(sums);
}

int tail_sums_add(struct tail_sums *sums, const struct trail *trail)
{
    uint64_t latency = trail->finish_ns - trail->start_ns;
    uint32_t bucket = coarse_bucket(latency);
    uint64_t *stages = sums->stages[bucket];
    if (!stages) {
        stages = sums->stages[bucket] = calloc(sums->stage_count + 1, sizeof(*stages));
        if (!stages)
            return err_no_memory();
    }
    if (sums->stage_count > 0) {
        struct sweep_parts parts;
        sweep_trail(&sums->plan, trail, &parts);
        for (uint64_t rest = parts.passed; rest; rest &= rest - 1) {
            int i = __builtin_ctzll(rest);
            stages[i] += parts.on_path[i];
        }
        stages[sums->stage_count] += parts.unattributed;
    } else {
        stages[0] += latency;
    }
    sums->count++;
    sums->sum_ns += latency;
    sums->buckets[bucket]++;
    time_windows_at(&sums->windows, trail->finish_ns)[bucket]++;
    return 0;
}

const char *tail_sums_stage(const struct tail_sums *sums, size_t i)
{
    return i < sums->stage_count ? sums->type.path->stages[i].name : "unattributed";
}

uint64_t tail_sums_count(const struct tail_sums *sums, uint32_t begin, uint32_t end)
{
    uint64_t count = 0;
    for (uint32_t i = begin; i < end; i++)
        count += sums->buckets[i];
    return count;
}

double tail_sums_mean(const struct tail_sums *sums, uint32_t begin, uint32_t end, size_t i)
{
    uint64_t sum = 0, count = tail_sums_count(sums, begin, end);
    for (uint32_t bucket = begin; bucket < end; bucket++)
        sum += sums->stages[bucket] ? sums->stages[bucket][i] : 0;
    return count > 0 ? (double)sum / (double)count : 0;
}
