/* SPDX-License-Identifier: MIT */
/* The locks at length: what `optrail locks` prints. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "plural.h"
#include "locks_overview.h"
#include "renderers.h"
#include "text_out.h"
#include "units.h"

#define DEFAULT_WIDTH  100
#define SMALLEST_WIDTH 60
/* Waits that are less than this part of the ops' time are nothing to speak of. */
#define SMALL 0.01
/* A lock that is busy less than this caps nothing that anybody could reach. */
#define SPEAKING 0.01
/* Of a name so much is printed: it may have no blank at which a line could be broken. */
#define LONGEST       80
#define SHOWN_PARTS   4
#define SHOWN_THREADS 4
#define SHOWN_SITES   3
#define SHOWN_FRAMES  6

static void parts(FILE *out, int width, const char *before, const struct report_part *rows,
                  size_t count)
{
    char text[1024], number[24];
    size_t used = (size_t)snprintf(text, sizeof(text), "%s", before);

    for (size_t i = 0; i < count && i < SHOWN_PARTS && used < sizeof(text) - 200; i++) {
        bool lock = strncmp(rows[i].name, "lock:", 5) == 0;
        if (i > 0 && rows[i].share < 0.01)
            break;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%.80s %.0f %% (%s)",
                                 i ? ", " : " ", lock ? "waiting for " : "",
                                 rows[i].name + (lock ? 5 : 0), 100 * rows[i].share,
                                 unit_duration(rows[i].ns, number, sizeof(number)));
    }
    if (count > 0)
        text_paragraph(out, 2, width, text);
}

static void latency(FILE *out, int width, const char *before, const struct report_latency *row)
{
    char text[512], count[24], mean[24], p50[24], p99[24], max[24];

    snprintf(text, sizeof(text), "%s %s: mean %s, p50 %s, p99 %s, max %s", before,
             unit_count(row->count, count, sizeof(count)),
             unit_duration((uint64_t)(row->mean + 0.5), mean, sizeof(mean)),
             unit_duration(row->p50, p50, sizeof(p50)), unit_duration(row->p99, p99, sizeof(p99)),
             unit_duration(row->max, max, sizeof(max)));
    text_paragraph(out, 2, width, text);
}

/* What had not ended may never: its time so far is among that of the waits. */
static void unfinished(FILE *out, int width, const struct report_lock *row)
{
    char text[256], count[24], longest[24];

    if (row->unfinished == 0)
        return;
    snprintf(text, sizeof(text),
             "unfinished: %s wait%s had not ended when the recording did, the longest %s so far",
             unit_count(row->unfinished, count, sizeof(count)), plural(row->unfinished),
             unit_duration(row->unfinished_longest_ns, longest, sizeof(longest)));
    text_paragraph(out, 2, width, text);
}

static void threads(FILE *out, int width, const struct report_lock *lock)
{
    char text[1024], number[24];
    size_t used = 0;

    for (size_t i = 0; i < lock->thread_count && i < SHOWN_THREADS; i++) {
        const struct report_lock_thread *row = &lock->threads[i];
        if (row->blocked == 0)
            break;
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%sthread %d (%s of %" PRIu64 " wait%s)",
                                 used ? ", " : "in the way: ", row->tid,
                                 unit_duration(row->blocked_ns, number, sizeof(number)),
                                 row->blocked, plural(row->blocked));
    }
    if (used > 0)
        text_paragraph(out, 2, width, text);
    if (lock->fairness > 0 && lock->fairness < 0.8) {
        snprintf(text, sizeof(text),
                 "not fair: the threads' mean waits differ (Jain's index %.2f, 1 is fair)",
                 lock->fairness);
        text_paragraph(out, 2, width, text);
    }
}

static void ceiling(FILE *out, int width, const struct report_lock *lock)
{
    char text[512], rate[24];
    size_t used;

    if (lock->busy <= 0) {
        text_paragraph(out, 2, width, "how much of the time it is held was not measured");
        return;
    }
    used = (size_t)snprintf(
        text, sizeof(text), "busy %.1f %% of the time (%.1f to %.1f, 95 %% confidence)%s%s%s",
        100 * lock->busy, 100 * lock->busy_low, 100 * lock->busy_high,
        lock->instances > 1 ? ", the busiest one, " : "", lock->instances > 1 ? lock->instance : "",
        lock->acquisitions ? "" : ", at least");
    if (lock->ceiling_ops_per_s > 0 && lock->busy >= SPEAKING && used < sizeof(text))
        snprintf(text + used, sizeof(text) - used,
                 ": the daemon cannot do more than %s op/s with it",
                 unit_rate(lock->ceiling_ops_per_s, rate, sizeof(rate)));
    text_paragraph(out, 2, width, text);
}

static void meanwhile(FILE *out, int width, const struct report_lock *lock)
{
    const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {{"ran", lock->running_ns},
                {"waited for a CPU", lock->runnable_ns},
                {"waited for a disk", lock->disk_ns},
                {"slept", lock->asleep_ns},
                {"waited for another lock", lock->chain_ns}};
    char text[512], number[24];
    size_t used = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].ns > 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
                                     used ? ", " : "who held it meanwhile: ", rows[i].text,
                                     unit_duration(rows[i].ns, number, sizeof(number)));
    if (used > 0)
        text_paragraph(out, 2, width, text);
}

/* The inner frames of a call site. */
static void site(FILE *out, int width, const struct report_lock_site *row)
{
    char text[2048], number[24];
    size_t used = (size_t)snprintf(text, sizeof(text), "%" PRIu64 " wait%s, %s: ", row->waits,
                                   row->waits == 1 ? "" : "s",
                                   unit_duration(row->wait_ns, number, sizeof(number)));
    const char *frame = row->frames;

    for (int i = 0; i < SHOWN_FRAMES && *frame && used < sizeof(text) - 300; i++) {
        size_t length = strcspn(frame, ";");
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s%s", i ? " < " : "",
                                 (int)(length < LONGEST ? length : LONGEST), frame,
                                 length > LONGEST ? "…" : "");
        frame += length + (frame[length] == ';');
    }
    text_paragraph(out, 4, width, text);
}

static void lock(FILE *out, int width, const struct report *report, const struct report_lock *row)
{
    char text[512], waits[24], time[24], number[24];
    size_t used = (size_t)snprintf(text, sizeof(text), "%.*s%s", LONGEST, row->name,
                                   strlen(row->name) > LONGEST ? "…" : "");

    if (*row->member)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " (%.120s)", row->member);
    snprintf(text + used, sizeof(text) - used, ": %s, %s wait%s, %s", locks_kind_words(row->kind),
             unit_count(row->waits, waits, sizeof(waits)), row->waits == 1 ? "" : "s",
             unit_duration(row->wait_total_ns, time, sizeof(time)));
    fputc('\n', out);
    text_paragraph(out, 0, width, text);
    latency(out, width, "waits", &row->wait);
    unfinished(out, width, row);
    if (row->hold.count)
        latency(out, width, row->acquisitions ? "holds" : "holds that were waited for", &row->hold);
    if (row->holds_unmeasured) {
        snprintf(text, sizeof(text), "holds that were not measured: %s",
                 unit_count(row->holds_unmeasured, number, sizeof(number)));
        text_paragraph(out, 2, width, text);
    }
    if (row->acquisitions) {
        snprintf(text, sizeof(text),
                 "%s acquisitions, %.1f %% had to wait; %" PRIu64 " lock%s of this name",
                 unit_count(row->acquisitions, number, sizeof(number)),
                 100 * (double)row->waits / (double)row->acquisitions, row->instances,
                 row->instances == 1 ? "" : "s");
        text_paragraph(out, 2, width, text);
    }
    if (strcmp(row->class, "lock") == 0)
        ceiling(out, width, row);
    if (report->load.known) { /* else nobody knows of stages */
        parts(out, width, "asked for in:", row->waiters, row->waiter_count);
        parts(out, width, "held for:", row->holders, row->holder_count);
    }
    meanwhile(out, width, row);
    threads(out, width, row);
    if (row->site_count > 0 && row->acquisitions)
        text_paragraph(out, 2, width,
                       "stacks, of the waits that were captured (the figures above are what the "
                       "daemon tells of the lock):");
    for (size_t i = 0; i < row->site_count && i < SHOWN_SITES; i++)
        site(out, width, &row->sites[i]);
}

/* Says so when no lock matters. */
static void nothing(const struct report *report, int width, FILE *out)
{
    char line[256], number[24];
    double time = 0, waited = 0;

    for (size_t i = 0; i < report->op_count; i++)
        time += (double)report->ops[i].total_ns;
    for (size_t i = 0; i < report->lock_count; i++)
        waited += (double)report->locks[i].wait_total_ns;
    if (report->lock_count == 0 && report->load.locks == 0)
        snprintf(line, sizeof(line), "Nothing contended: no wait for a lock was seen.");
    else if (report->lock_count == 0)
        snprintf(line, sizeof(line),
                 "Nothing contended: %s acquisition%s of %" PRIu64 " lock%s, and nobody waited.",
                 unit_count(report->load.acquisitions, number, sizeof(number)),
                 report->load.acquisitions == 1 ? "" : "s", report->load.locks,
                 report->load.locks == 1 ? "" : "s");
    else if (waited < SMALL * time)
        snprintf(line, sizeof(line),
                 "Nothing contended to speak of: all waits for locks together are %.2f %% of the "
                 "ops' time.",
                 100 * waited / time);
    else
        return;
    fputc('\n', out);
    text_paragraph(out, 0, width, line);
}

int render_locks(const struct report *report, const struct render_options *options, FILE *out)
{
    int width = options && options->width > 0 ? options->width : DEFAULT_WIDTH;
    bool all = options && options->all_locks;

    if (width < SMALLEST_WIDTH)
        width = SMALLEST_WIDTH;
    errno = 0;
    text_source(report, width, out);
    text_verdicts(report, width, out);
    nothing(report, width, out);
    locks_overview(report, all, out);
    for (size_t i = 0; i < report->lock_count; i++)
        if (all || locks_matters(report, &report->locks[i]))
            lock(out, width, report, &report->locks[i]);
    text_queues(out, report);
    text_cpu(out, report, width);
    text_losses(report, width, out);
    if (fflush(out) == EOF || ferror(out))
        return err_set(errno ? errno : EIO, "the report cannot be written: %s",
                       strerror(errno ? errno : EIO));
    return 0;
}
