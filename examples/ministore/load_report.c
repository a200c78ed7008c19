/* SPDX-License-Identifier: MIT */
#include "load_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon_log.h"
#include "inject.h"
#include "named_lock.h"

#define MEBI 1048576.0

static const char *const mode_nouns[] = {[LOAD_WRITE] = "writes",
                                         [LOAD_RANDREAD] = "random reads",
                                         [LOAD_MIXED] = "reads and writes",
                                         [LOAD_CHECK] = "reads"};

void load_report_begin(struct load_report *report, const struct load_options *options)
{
    *report = (struct load_report){.options = options};
    printf("%" PRIu64 " at once, %" PRIu64 " bytes each: %s on %" PRIu64 " objects, ",
           options->depth, options->object_size, mode_nouns[options->mode], options->objects);
    if (options->mode == LOAD_CHECK)
        puts("each once");
    else if (options->ops)
        printf("%" PRIu64 " ops%s", options->ops, options->seconds ? " or " : "\n");
    if (options->seconds)
        printf("%" PRIu64 " seconds\n", options->seconds);
    if (!options->quiet)
        puts("  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)");
    fflush(stdout);
}

static double mean_latency(const struct load_counts *counts)
{
    return counts->finished ? (double)counts->sum_ns * 1e-9 / (double)counts->finished : 0;
}

static double deviation(double sum, double squares, double count)
{
    double variance = count ? squares / count - (sum / count) * (sum / count) : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

/* The rates of one second. */
static void add_sample(struct load_report *report, double iops, double bandwidth)
{
    bool first = report->seconds == 0;
    report->iops_sum += iops;
    report->iops_squares += iops * iops;
    report->bandwidth_sum += bandwidth;
    report->bandwidth_squares += bandwidth * bandwidth;
    report->iops_min = first || iops < report->iops_min ? iops : report->iops_min;
    report->iops_max = first || iops > report->iops_max ? iops : report->iops_max;
    report->bandwidth_min =
        first || bandwidth < report->bandwidth_min ? bandwidth : report->bandwidth_min;
    report->bandwidth_max =
        first || bandwidth > report->bandwidth_max ? bandwidth : report->bandwidth_max;
}

void load_report_second(struct load_report *report, const struct load_counts *counts)
{
    double bandwidth = (double)(counts->bytes - report->last_bytes) / MEBI;
    add_sample(report, (double)(counts->finished - report->last_finished), bandwidth);
    report->seconds++;
    report->last_finished = counts->finished;
    report->last_bytes = counts->bytes;
    if (report->options->quiet)
        return;
    uint64_t done = counts->finished + counts->lost;
    printf("%5" PRIu64 " %7" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9.4g %9.4g %11.6g %11.6g\n",
           report->seconds, counts->started > done ? counts->started - done : 0, counts->started,
           counts->finished, (double)counts->bytes / MEBI / (double)report->seconds, bandwidth,
           (double)counts->last_ns * 1e-9, mean_latency(counts));
    fflush(stdout);
}

void load_report_totals(struct load_report *report, const struct load_counts *counts,
                        double seconds)
{
    const struct load_options *options = report->options;
    double per_second = seconds > 0 ? 1 / seconds : 0;
    if (!report->seconds) /* over within the first second: its rates are those of the whole */
        add_sample(report, (double)counts->finished * per_second,
                   (double)counts->bytes / MEBI * per_second);
    double lines = report->seconds ? (double)report->seconds : 1;
    printf("Total time run:         %.6f\n", seconds);
    if (options->mode == LOAD_WRITE || options->mode == LOAD_MIXED)
        printf("Total writes made:      %" PRIu64 "\n"
               "Write size:             %" PRIu64 "\n",
               counts->writes, options->object_size);
    if (options->mode != LOAD_WRITE)
        printf("Total reads made:       %" PRIu64 "\n"
               "Read size:              %" PRIu64 "\n",
               counts->reads, options->object_size);
    printf("Object size:            %" PRIu64 "\n", options->object_size);
    printf("Bandwidth (MB/sec):     %.6g\n", (double)counts->bytes / MEBI * per_second);
    printf("Stddev Bandwidth:       %.6g\n",
           deviation(report->bandwidth_sum, report->bandwidth_squares, lines));
    printf("Max bandwidth (MB/sec): %.6g\n", report->bandwidth_max);
    printf("Min bandwidth (MB/sec): %.6g\n", report->bandwidth_min);
    printf("Average IOPS:           %.0f\n", (double)counts->finished * per_second);
    printf("Stddev IOPS:            %.6g\n",
           deviation(report->iops_sum, report->iops_squares, lines));
    printf("Max IOPS:               %.0f\n", report->iops_max);
    printf("Min IOPS:               %.0f\n", report->iops_min);
    printf("Average Latency(s):     %.6g\n", mean_latency(counts));
    printf("Stddev Latency(s):      %.6g\n",
           deviation((double)counts->sum_ns * 1e-9, counts->sum_squares, (double)counts->finished));
    printf("Max latency(s):         %.6g\n", (double)counts->max_ns * 1e-9);
    printf("Min latency(s):         %.6g\n", (double)counts->min_ns * 1e-9);
    if (counts->failed)
        printf("Failed ops:             %" PRIu64 "\n", counts->failed);
    for (int i = 0; i < ERRNO_LIMIT; i++) {
        if (counts->errors[i])
            printf("  %-21s %" PRIu64 "\n", strerror(i), counts->errors[i]);
    }
    if (counts->lost)
        printf("Ops without an answer:  %" PRIu64 "\n", counts->lost);
    if (counts->wrong)
        printf("Ops with wrong data:    %" PRIu64 "\n", counts->wrong);
    fflush(stdout);
}

static void write_json(FILE *file, const struct load_report *report,
                       const struct load_counts *counts, double seconds, uint64_t digest)
{
    const struct load_options *options = report->options;
    fprintf(file,
            "{\"seconds\":%.9f,\"depth\":%" PRIu64 ",\"threads\":%" PRIu64
            ",\"object_size\":%" PRIu64 ",\"objects\":%" PRIu64 ",\"seed\":%" PRIu64
            ",\"client\":%" PRIu64 ",\"started\":%" PRIu64 ",\"finished\":%" PRIu64
            ",\"reads\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"lost\":%" PRIu64
            ",\"wrong\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"sequence\":\"%016" PRIx64 "\"",
            seconds, options->depth, options->threads, options->object_size, options->objects,
            options->seed, options->client, counts->started, counts->finished, counts->reads,
            counts->writes, counts->failed, counts->lost, counts->wrong, counts->bytes, digest);
    fprintf(file, ",\"iops\":%.3f,\"mb_per_second\":%.6f",
            seconds > 0 ? (double)counts->finished / seconds : 0,
            seconds > 0 ? (double)counts->bytes / MEBI / seconds : 0);
    fprintf(file,
            ",\"latency_ns\":{\"mean\":%.1f,\"min\":%" PRIu64 ",\"p50\":%" PRIu64
            ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64
            ",\"sum\":%" PRIu64 "}",
            mean_latency(counts) * 1e9, counts->min_ns, load_counts_quantile(counts, 0.5),
            load_counts_quantile(counts, 0.9), load_counts_quantile(counts, 0.99),
            load_counts_quantile(counts, 0.999), counts->max_ns, counts->sum_ns);
    fputs(",\"errors\":{", file);
    const char *separator = "";
    for (int i = 0; i < ERRNO_LIMIT; i++) {
        const char *name = strerrorname_np(i);
        if (counts->errors[i])
            fprintf(file, "%s\"%s\":%" PRIu64, separator, name ? name : "other", counts->errors[i]);
        if (counts->errors[i])
            separator = ",";
    }
    fputs("},\"locks\":", file);
    lock_write_json(file);
    fputs(",\"inject\":", file);
    inject_write_json(file);
    fputs("}\n", file);
}

int load_report_json(const struct load_report *report, const struct load_counts *counts,
                     double seconds, uint64_t digest, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return log_error("cannot write %s: %s", path, strerror(errno));
    write_json(file, report, counts, seconds, digest);
    int bad = ferror(file);
    if (fclose(file) != 0 || bad)
        return log_error("cannot write %s: %s", path, strerror(errno));
    return 0;
}
