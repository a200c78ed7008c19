/* SPDX-License-Identifier: MIT */
#include "tail_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "err.h"

struct tail_sums *tail_sums_new(const char *type, const struct path *path)
{
    struct tail_sums *sums = calloc(1, sizeof(*sums));
    if (!sums || time_windows_init(&sums->windows, TAIL_WINDOWS, COARSE_BUCKETS) < 0) {
        err_no_memory();
        free(sums);
        return NULL;
    }
    sums->type = type;
    sums->path = path;
    sums->stage_count = path ? path->stage_count : 0;
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

/* The stages' sums of a bucket, made if need be; NULL with the message: no memory. */
static uint64_t *stages_of(struct tail_sums *sums, uint32_t bucket)
{
    if (!sums->stages[bucket] &&
        !(sums->stages[bucket] = calloc(sums->stage_count + 1, sizeof(**sums->stages))))
        err_no_memory();
    return sums->stages[bucket];
}

int tail_sums_add(struct tail_sums *sums, const struct trail *trail,
                  const struct sweep_parts *parts)
{
    uint64_t latency = trail->finish_ns - trail->start_ns;
    uint32_t bucket = coarse_bucket(latency);
    uint64_t *stages = stages_of(sums, bucket);
    if (!stages)
        return -ENOMEM;
    for (uint64_t rest = parts->passed; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        stages[i] += parts->on_path[i];
    }
    stages[sums->stage_count] += parts->unattributed;
    sums->count++;
    sums->sum_ns += latency;
    sums->buckets[bucket]++;
    time_windows_at(&sums->windows, trail->finish_ns)[bucket]++;
    return 0;
}

const char *tail_sums_stage(const struct tail_sums *sums, size_t i)
{
    return i < sums->stage_count ? sums->path->stages[i].name : "unattributed";
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

void tail_sums_save(const struct tail_sums *sums, struct profile_writer *writer)
{
    profile_put_number(writer, sums->count);
    profile_put_number(writer, sums->sum_ns);
    sparse_save(sums->buckets, COARSE_BUCKETS, writer);
    for (uint32_t i = 0; i < COARSE_BUCKETS; i++) {
        if (!sums->stages[i])
            continue;
        profile_put_row(writer, "bucket");
        profile_put_number(writer, i);
        sparse_save(sums->stages[i], sums->stage_count + 1, writer);
    }
    time_windows_save(&sums->windows, "window", writer);
}

int tail_sums_load(struct tail_sums *sums, struct profile_reader *reader)
{
    sums->count += profile_number(reader, PROFILE_MAX_NUMBER);
    sums->sum_ns += profile_number(reader, PROFILE_MAX_NUMBER);
    sparse_load(sums->buckets, COARSE_BUCKETS, reader);
    while (profile_take_row(reader, "bucket")) {
        uint64_t *stages = stages_of(sums, (uint32_t)profile_number(reader, COARSE_BUCKETS - 1));
        if (!stages)
            return -ENOMEM;
        sparse_load(stages, sums->stage_count + 1, reader);
    }
    time_windows_load(&sums->windows, "window", reader);
    /* what is divided by the number of ops relies on it */
    if (profile_reader_result(reader) == 0 &&
        sums->count != tail_sums_count(sums, 0, COARSE_BUCKETS))
        return profile_wrong(reader, "ops by latency that are not as many as all");
    return profile_reader_result(reader);
}
