/* SPDX-License-Identifier: MIT */
/* The sums of an op type in a profile: docs/profile.md has the rows. */
#include <stdlib.h>

#include "err.h"
#include "profile_rows.h"
#include "stage_rows.h"

#define MOST PROFILE_MAX_NUMBER

void stage_sums_save(const struct stage_sums *sums, size_t path, struct profile_writer *writer)
{
    profile_put_row(writer, "op");
    profile_put_word(writer, sums->type);
    profile_put_number(writer, path);
    profile_put_number(writer, sums->failed);
    profile_put_number(writer, sums->broken);
    profile_put_number(writer, sums->bytes);
    profile_put_row(writer, "op-latency");
    profile_put_histogram(writer, &sums->latency);
    profile_put_row(writer, "op-largest");
    for (size_t i = 0; i <= sums->stage_count; i++)
        profile_put_number(writer, sums->largest[i]);
    for (size_t i = 0; i < sums->stage_count; i++) {
        if (sums->stages[i].count == 0 && sums->beside_ns[i] == 0)
            continue;
        profile_put_row(writer, "op-stage");
        profile_put_number(writer, i);
        profile_put_number(writer, sums->beside_ns[i]);
        profile_put_histogram(writer, &sums->stages[i]);
    }
    for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        if (sums->latency.buckets[b] == 0)
            continue;
        profile_put_row(writer, "op-row");
        profile_put_number(writer, b);
        for (size_t i = 0; i <= sums->stage_count; i++)
            profile_put_number(writer, sums->buckets[b][i]);
    }
}

static int load_stage(struct stage_sums *sums, struct profile_reader *reader)
{
    if (sums->stage_count == 0)
        return profile_wrong(reader, "a stage of ops that have none");
    size_t i = profile_number(reader, sums->stage_count - 1);
    sums->beside_ns[i] += profile_number(reader, MOST);
    profile_add_histogram(reader, &sums->stages[i]);
    return profile_reader_result(reader);
}

/* One latency bucket's times. Returns them added to `total`, which must not run over. */
static int load_row(struct stage_sums *sums, struct profile_reader *reader, uint64_t *total)
{
    size_t bucket = profile_number(reader, HISTOGRAM_BUCKETS - 1);
    if (profile_reader_result(reader) == 0 && sums->latency.buckets[bucket] == 0)
        return profile_wrong(reader, "times of a latency that no op had");
    uint64_t *row = stage_sums_row(sums, bucket);
    if (!row)
        return err_no_memory();
    for (size_t i = 0; i <= sums->stage_count; i++) {
        uint64_t ns = profile_number(reader, MOST);
        if (__builtin_add_overflow(*total, ns, total))
            return profile_wrong(reader, "times that are longer than any");
        row[i] += ns;
    }
    return profile_reader_result(reader);
}

int stage_sums_load(struct stage_sums *sums, struct profile_reader *reader)
{
    uint64_t total = 0, before = sums->latency.sum, stages = 0;
    sums->failed += profile_number(reader, MOST);
    sums->broken += profile_number(reader, MOST);
    sums->bytes += profile_number(reader, MOST);
    if (profile_take_row(reader, "op-latency"))
        profile_add_histogram(reader, &sums->latency);
    if (profile_take_row(reader, "op-largest"))
        for (size_t i = 0; i <= sums->stage_count; i++)
            sums->largest[i] += profile_number(reader, MOST);
    int rc = profile_reader_result(reader);
    while (rc == 0 && profile_take_row(reader, "op-stage"))
        rc = load_stage(sums, reader);
    while (rc == 0 && profile_take_row(reader, "op-row"))
        rc = load_row(sums, reader, &total);
    /* every bucket has its row, and the parts add up to the whole */
    sums->unattributed_ns = 0;
    for (size_t b = 0; rc == 0 && b < HISTOGRAM_BUCKETS; b++) {
        if (sums->latency.buckets[b] > 0 && !sums->buckets[b])
            rc = profile_wrong(reader, "a latency without its stages' times");
        else if (sums->buckets[b])
            sums->unattributed_ns += sums->buckets[b][sums->stage_count];
    }
    for (size_t i = 0; i < sums->stage_count; i++)
        stages += sums->stages[i].sum;
    if (rc == 0 && (total != sums->latency.sum - before ||
                    stages + sums->unattributed_ns != sums->latency.sum))
        rc = profile_wrong(reader, "stages that do not add up to the ops' time");
    return rc < 0 ? rc : profile_reader_result(reader);
}
