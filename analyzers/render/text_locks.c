/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text_out.h"
#include "units.h"
#include "plural.h"

/* Locks that are shown in a report; `optrail locks` shows all. */
#define SHOWN_LOCKS 5
/* A lock with less than this part of what is waited for the first one is not shown there. */
#define SMALL      0.01
#define NAME_WIDTH 34
/* The last column of the tables, so that a line has 100. */
#define MOST_WIDTH 26

static void print_percent(FILE *out, double share, int width)
{
    fprintf(out, "%*.0f %%", width - 2, 100 * share);
}

/* "filestore.lfn_open 98 %", or "waiting for pg.lock 75 %" as "wait: pg.lock 75 %": what has most,
 * in what room a line has left. */
static void print_most(FILE *out, const struct report_part *parts, size_t count)
{
    if (count == 0 || parts[0].share <= 0)
        return;
    bool lock = strncmp(parts[0].name, "lock:", 5) == 0;
    const char *name = parts[0].name + (lock ? 5 : 0);
    size_t room = MOST_WIDTH - strlen(" 100 %") - (lock ? strlen("wait: ") : 0);
    size_t columns = text_columns(name); /* as escaped it is hardly longer */
    fprintf(out, "  %s", lock ? "wait: " : "");
    text_name(out, name, columns < room ? columns : room);
    fprintf(out, " %.0f %%", 100 * parts[0].share);
}

static void lock_line(FILE *out, const struct report_lock *lock)
{
    char number[24];

    fputs("  ", out);
    text_name(out, lock->name, 22);
    fprintf(out, "%8s", unit_count(lock->waits, number, sizeof(number)));
    text_duration(out, lock->wait_total_ns, 9);
    text_duration(out, lock->wait.p50, 9);
    text_duration(out, lock->wait.p99, 8);
    if (lock->hold.count)
        text_duration(out, (uint64_t)lock->hold.mean, 8);
    else
        fprintf(out, "%8s", "?");
    if (lock->busy > 0)
        print_percent(out, lock->busy, 6);
    else
        fprintf(out, "%6s", "?");
    print_most(out, lock->holders, lock->holder_count);
    fputc('\n', out);
}

static bool is_shown(const struct report *report, size_t number)
{
    double time = 0;

    for (size_t i = 0; i < report->op_count; i++)
        time += (double)report->ops[i].total_ns;
    return number < SHOWN_LOCKS && (double)report->locks[number].wait_total_ns >= SMALL * time;
}

static void lock_heading(FILE *out)
{
    fprintf(out, "\n%-24s%8s%9s%9s%8s%8s%6s  %s\n", "locks", "waits", "waited", "p50", "p99",
            "held", "busy", "under it");
}

void text_locks(FILE *out, const struct report *report)
{
    char number[24];
    size_t shown = 0;

    if (!report->load.locks_known)
        return;
    if (report->lock_count == 0 || !is_shown(report, 0)) {
        fprintf(out, "\nlocks: nothing contended");
        if (report->load.acquisitions)
            fprintf(out, " (%s acquisitions of %" PRIu64 " lock%s)",
                    unit_count(report->load.acquisitions, number, sizeof(number)),
                    report->load.locks, report->load.locks == 1 ? "" : "s");
        fputc('\n', out);
        return;
    }
    lock_heading(out);
    for (; shown < report->lock_count && is_shown(report, shown); shown++)
        lock_line(out, &report->locks[shown]);
    if (shown < report->lock_count)
        fprintf(out, "  and %zu that %s waited for less\n", report->lock_count - shown,
                report->lock_count - shown == 1 ? "was" : "were");
}

void text_queues(FILE *out, const struct report *report)
{
    char number[24];
    uint64_t servers = 0;

    for (size_t i = 0; i < report->queue_count; i++)
        servers += report->queues[i].servers;
    if (servers == 0)
        return;
    fprintf(out, "\n%-24s%8s%9s%8s%7s%8s%8s  %s\n", "queues", "ops/s", "waiting", "threads", "busy",
            "busiest", "an op", "busy with");
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        if (queue->servers == 0) /* who takes from it was not seen */
            continue;
        fputs("  ", out);
        text_name(out, queue->stage, 22);
        fprintf(out, "%8s", unit_rate(queue->rate, number, sizeof(number)));
        text_duration(out, queue->ops ? queue->wait_total_ns / queue->ops : 0, 9);
        fprintf(out, "%8" PRIu64, queue->servers);
        print_percent(out, queue->busy, 7);
        print_percent(out, queue->busiest, 8);
        text_duration(out, (uint64_t)queue->service_ns, 8);
        print_most(out, queue->parts, queue->part_count);
        fputc('\n', out);
    }
}

void text_cpu(FILE *out, const struct report *report, int width)
{
    const struct report_cpu *cpu = &report->cpu;
    double seconds = cpu->seconds > 0 ? cpu->seconds : 1;
    char line[400], each[48] = "", wait[24], ended[96] = "";

    if (!cpu->known)
        return;
    if (report->counts.ops)
        snprintf(each, sizeof(each), ", %s an op",
                 unit_duration(cpu->wait_ns / report->counts.ops, wait, sizeof(wait)));
    if (cpu->ended)
        snprintf(ended, sizeof(ended), "; %" PRIu64 " that ended meanwhile %s not in it",
                 cpu->ended, cpu->ended == 1 ? "is" : "are");
    snprintf(line, sizeof(line),
             "cpu: in a second its %" PRIu64 " thread%s ran for %.2f s and waited for a CPU for "
             "%.2f s%s; %" PRIu64 " CPU%s, busy %.0f %% of the time%s",
             cpu->threads, plural(cpu->threads), (double)cpu->run_ns / 1e9 / seconds,
             (double)cpu->wait_ns / 1e9 / seconds, each, cpu->cpus, cpu->cpus == 1 ? "" : "s",
             100 * cpu->busy, ended);
    fputc('\n', out);
    text_paragraph(out, 0, width, line);
}
