/* SPDX-License-Identifier: MIT */
/* The report's locks. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contention.h"
#include "err.h"
#include "lock_rows.h"
#include "lock_rules.h"
#include "plural.h"
#include "wait_kinds.h"

#define SHOWN_INSTANCES 5
#define SHOWN_THREADS   16
#define SHOWN_SITES     8
/* Student's t for 95 %, two-sided, of a few degrees of freedom (from 1). */
static const double student[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31,
                                 2.26,  2.23, 2.20, 2.18, 2.16, 2.14, 2.13};

/* The instances of one group. */
struct gathered {
    uint16_t group;
    size_t count;
    struct lock_instance hottest[SHOWN_INSTANCES]; /* by busy time */
};

/* In an order that does not depend on where they stand in the table. */
static bool hotter(const struct lock_instance *a, const struct lock_instance *b)
{
    if (a->busy_ns != b->busy_ns)
        return a->busy_ns > b->busy_ns;
    return a->pid != b->pid ? a->pid < b->pid : a->id < b->id;
}

static void gather(void *context, const struct lock_instance *instance)
{
    struct gathered *gathered = context;
    if (instance->group != gathered->group)
        return;
    size_t shown = gathered->count < SHOWN_INSTANCES ? gathered->count : SHOWN_INSTANCES;
    gathered->count++;
    size_t at = shown;
    while (at > 0 && hotter(instance, &gathered->hottest[at - 1]))
        at--;
    if (at == SHOWN_INSTANCES)
        return;
    size_t moved = (shown < SHOWN_INSTANCES ? shown : SHOWN_INSTANCES - 1) - at;
    memmove(&gathered->hottest[at + 1], &gathered->hottest[at], moved * sizeof(*gathered->hottest));
    gathered->hottest[at] = *instance;
}

static void instance_name(const struct lock_instance *instance, char *name, size_t size)
{
    if (instance->is_address)
        snprintf(name, size, "%#" PRIx64, instance->id);
    else
        snprintf(name, size, "%" PRIu64, instance->id);
}

/* Slices of the time in which nothing was told of any lock, before the first one and behind the
 * last one: in none of them a lock was busy. */
static int empty_slices(const struct contention *contention, struct contention_window window)
{
    uint64_t slice = lock_table_slice_ns(contention->locks);
    uint64_t begin = lock_table_slices_ns(contention->locks), end = begin + LOCK_SLICES * slice;
    uint64_t count = begin > window.begin_ns ? (begin - window.begin_ns) / slice : 0;
    count += window.end_ns > end ? (window.end_ns - end) / slice : 0;
    return count < 1000000 ? (int)count : 1000000;
}

/* The part of the time that it was busy, from the slices of time in which ops were seen whole, and
 * how far that may be from what it would be in the long run. */
static void fill_busy(const struct contention *contention, const struct lock_instance *instance,
                      double seconds, struct report_lock *row)
{
    double slice = (double)lock_table_slice_ns(contention->locks), sum = 0, squares = 0;
    uint64_t begin = lock_table_slices_ns(contention->locks);
    struct contention_window window = contention_window(contention);
    int count = 0;
    for (int i = 0; i < LOCK_SLICES; i++) {
        double from = (double)begin + (double)i * slice;
        if (from < (double)window.begin_ns || from + slice > (double)window.end_ns)
            continue;
        double part = (double)instance->slices[i] / slice;
        sum += part;
        squares += part * part;
        count++;
    }
    count += empty_slices(contention, window);
    row->busy = seconds > 0 ? (double)instance->busy_ns / 1e9 / seconds : 0;
    row->busy_low = 0;
    row->busy_high = 1;
    if (count < 3)
        return;
    double mean = sum / count;
    double variance = (squares - sum * mean) / (count - 1);
    size_t freedom = (size_t)count - 2, most = sizeof(student) / sizeof(*student) - 1;
    double error =
        student[freedom < most ? freedom : most] * sqrt((variance > 0 ? variance : 0) / count);
    row->busy = mean;
    row->busy_low = mean > error ? mean - error : 0;
    row->busy_high = mean + error < 1 ? mean + error : 1;
}

static void fill_latency(struct report_latency *row, const struct histogram *histogram)
{
    *row = (struct report_latency){.count = histogram->count,
                                   .mean = histogram_mean(histogram),
                                   .p50 = histogram_quantile(histogram, 0.5),
                                   .p90 = histogram_quantile(histogram, 0.9),
                                   .p99 = histogram_quantile(histogram, 0.99),
                                   .p999 = histogram_quantile(histogram, 0.999),
                                   .max = histogram->max};
}

static int fill_places(const struct contention *contention, const struct stage_labels *labels,
                       const struct lock_places *places, struct report_part **parts, size_t *count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < places->count; i++) {
        const struct lock_place *place = &places->rows[i];
        struct stage_label label = stage_label_of(labels, place->from, place->to);
        char name[160];
        snprintf(name, sizeof(name), "%s",
                 label.stage  ? label.stage->name
                 : label.idle ? "between ops"
                              : "elsewhere");
        if (place->lock != LOCK_NO_GROUP)
            snprintf(name, sizeof(name), "lock:%s",
                     lock_table_groups(contention->locks)->rows[place->lock]->name);
        rc = report_add_part(parts, count, name, place->ns);
        for (size_t j = 0; rc == 0 && j < *count; j++)
            if (strcmp((*parts)[j].name, name) == 0)
                (*parts)[j].count += place->count;
    }
    if (rc == 0 && places->elsewhere_ns > 0)
        rc = report_add_part(parts, count, "elsewhere", places->elsewhere_ns);
    report_sort_parts(*parts, *count);
    return rc;
}

static int by_blocked(const void *a, const void *b)
{
    const struct lock_thread *left = a, *right = b;
    if (left->blocked_ns != right->blocked_ns)
        return left->blocked_ns < right->blocked_ns ? 1 : -1;
    if (left->wait_ns != right->wait_ns)
        return left->wait_ns < right->wait_ns ? 1 : -1;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    return left->tid < right->tid ? -1 : left->tid > right->tid;
}

static int fill_threads(const struct lock_group *group, struct report_lock *row)
{
    double sum = 0, squares = 0, count = 0;
    size_t known = 0;
    int rc = 0;
    if (group->thread_count == 0)
        return 0;
    struct lock_thread *threads = calloc(group->thread_count, sizeof(*threads));
    if (!threads)
        return err_no_memory();
    for (size_t i = 0; i < group->thread_room; i++)
        if (group->threads[i].pid | group->threads[i].tid)
            threads[known++] = group->threads[i];
    qsort(threads, known, sizeof(*threads), by_blocked);
    for (size_t i = 0; rc == 0 && i < known; i++) {
        const struct lock_thread *thread = &threads[i];
        if (thread->waits > 0) {
            double mean = (double)thread->wait_ns / (double)thread->waits;
            sum += mean;
            squares += mean * mean;
            count++;
        }
        if (i < SHOWN_THREADS && (thread->waits || thread->blocked))
            rc = report_add_lock_thread(
                row, &(struct report_lock_thread){(int)thread->pid, (int)thread->tid,
                                                  thread->acquired, thread->waits, thread->wait_ns,
                                                  thread->blocked, thread->blocked_ns});
    }
    row->fairness = squares > 0 ? sum * sum / (count * squares) : 1;
    free(threads);
    return rc;
}

static int by_wait(const void *a, const void *b)
{
    const struct lock_site *left = a, *right = b;
    if (left->wait_ns != right->wait_ns)
        return left->wait_ns < right->wait_ns ? 1 : -1;
    return strcmp(left->frames, right->frames);
}

static int fill_sites(const struct lock_group *group, struct report_lock *row)
{
    struct lock_site sites[LOCK_SITES];
    int rc = 0;
    if (group->site_count == 0)
        return 0;
    memcpy(sites, group->sites, group->site_count * sizeof(*sites));
    qsort(sites, group->site_count, sizeof(*sites), by_wait);
    for (size_t i = 0; rc == 0 && i < group->site_count && i < SHOWN_SITES; i++)
        rc = report_add_lock_site(row, sites[i].frames, sites[i].waits, sites[i].wait_ns);
    return rc;
}

static int fill_instances(const struct contention *contention, uint16_t number, double seconds,
                          struct report_lock *row)
{
    struct gathered gathered = {.group = number};
    char name[32] = "";
    int rc = 0;
    lock_table_instances(contention->locks, gather, &gathered);
    row->instances = gathered.count;
    for (size_t i = 0; rc == 0 && i < gathered.count && i < SHOWN_INSTANCES; i++) {
        const struct lock_instance *instance = &gathered.hottest[i];
        instance_name(instance, name, sizeof(name));
        rc = report_add_lock_instance(
            row, name,
            &(struct report_lock_instance){
                .pid = (int)instance->pid,
                .waits = instance->waits,
                .wait_ns = instance->wait_ns,
                .busy = seconds > 0 ? (double)instance->busy_ns / 1e9 / seconds : 0});
    }
    if (rc < 0 || gathered.count == 0)
        return rc;
    fill_busy(contention, &gathered.hottest[0], seconds, row);
    instance_name(&gathered.hottest[0], name, sizeof(name));
    return report_set_string(&row->instance, name);
}

/* The stage that is the wait for this lock, and what the lock guards. */
static int fill_meaning(const struct lock_group *group, const struct stage_labels *labels,
                        struct report_lock *row)
{
    const char *member = group->acquisitions ? "" : lock_rules_member(group->name), *stage = "";
    for (size_t i = 0; i < LOCK_ROW_COUNT; i++) {
        if (strcmp(lock_rows[i].name, group->name) != 0)
            continue;
        const struct path_stage *wait =
            stage_between(labels, (uint16_t)lock_rows[i].request, (uint16_t)lock_rows[i].acquired);
        stage = wait ? wait->name : "";
        member = lock_rows[i].text;
    }
    const struct wait_kind_row *kind = &wait_kind_rows[group->kind];
    int rc = report_set_string(&row->member, member);
    if (rc == 0)
        rc = report_set_string(&row->stage, stage);
    if (rc == 0)
        rc = report_set_string(&row->kind, kind->name);
    if (rc == 0)
        rc = report_set_string(&row->class,
                               kind->class == WAIT_CLASS_THROTTLE ? "throttle" : "lock");
    return rc;
}

static int fill_lock(const struct contention *contention, const struct stage_labels *labels,
                     uint16_t number, struct report *report)
{
    const struct lock_group *group = lock_table_groups(contention->locks)->rows[number];
    const struct lock_places *under = &contention->flows.under[number];
    const struct lock_unfinished unfinished = lock_table_unfinished(contention->locks, number);
    double seconds = (double)contention_window_ns(contention) / 1e9;
    /* where releases are not told, nothing is known of what is done under it */
    bool told = group->acquisitions > 0 && group->hold.count > 0;
    struct report_lock *row;
    int rc = report_add_lock(report, group->name, &row);
    if (rc < 0)
        return rc;
    row->acquisitions = group->acquisitions;
    row->waits = group->waits;
    row->wait_total_ns = group->wait.sum;
    row->handover_ns = group->handover_ns;
    row->hold_total_ns = group->hold_ns;
    row->holds_unmeasured = group->holds_unmeasured;
    row->unfinished = unfinished.count;
    row->unfinished_longest_ns = unfinished.longest_ns;
    row->contended = group->hold_ns ? (double)group->contended_ns / (double)group->hold_ns : 0;
    fill_latency(&row->wait, &group->wait);
    fill_latency(&row->hold, &group->hold);
    row->running_ns = group->meanwhile.running;
    row->runnable_ns = group->meanwhile.runnable;
    row->disk_ns = group->meanwhile.disk;
    row->asleep_ns = group->meanwhile.asleep;
    row->chain_ns = group->meanwhile.chain;
    if ((rc = fill_meaning(group, labels, row)) == 0 &&
        (rc = fill_instances(contention, number, seconds, row)) == 0 &&
        (rc = fill_places(contention, labels, &group->waiters, &row->waiters,
                          &row->waiter_count)) == 0 &&
        (rc = fill_places(contention, labels, told ? under : &group->holders, &row->holders,
                          &row->holder_count)) == 0 &&
        (rc = fill_threads(group, row)) == 0)
        rc = fill_sites(group, row);
    /* a throttle that is told of as a lock is the stage in which it is waited for */
    if (rc == 0 && strcmp(row->class, "throttle") == 0 && !*row->stage && row->waiter_count > 0 &&
        row->waiters[0].share > 0.5 && stage_is(labels, row->waiters[0].name, STAGE_THROTTLE))
        rc = report_set_string(&row->stage, row->waiters[0].name);
    row->ceiling_ops_per_s = row->busy > 0 ? report->load.rate / row->busy : 0;
    return rc;
}

static int by_wait_total(const void *a, const void *b)
{
    const struct report_lock *left = a, *right = b;
    if (left->wait_total_ns != right->wait_total_ns)
        return left->wait_total_ns < right->wait_total_ns ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* A condition variable that threads wait for only while they work for no op: nothing to do. */
static bool is_idle(const struct contention *contention, const struct stage_labels *labels,
                    const struct lock_group *group)
{
    const struct contention_window ops = {contention->flows.begin_ns, contention->flows.end_ns};
    if ((group->kind != WAIT_condvar && group->kind != WAIT_condvar_idle) ||
        ops.end_ns <= ops.begin_ns || group->waiters.elsewhere_ns > 0)
        return false;
    for (size_t i = 0; i < group->waiters.count; i++) {
        const struct lock_place *place = &group->waiters.rows[i];
        if (!stage_label_of(labels, place->from, place->to).idle)
            return false;
    }
    return group->waiters.count > 0;
}

int contention_fill_locks(const struct contention *contention, const struct stage_labels *labels,
                          struct report *report)
{
    const struct lock_groups *groups = lock_table_groups(contention->locks);
    uint64_t idle = 0, idle_ns = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < groups->count; i++) {
        if (is_idle(contention, labels, groups->rows[i])) {
            idle += groups->rows[i]->waits;
            idle_ns += groups->rows[i]->wait.sum;
            continue;
        }
        report->load.locks += groups->rows[i]->waits > 0 || groups->rows[i]->acquisitions > 0;
        report->load.acquisitions += groups->rows[i]->acquisitions;
        if (groups->rows[i]->waits > 0 ||
            lock_table_unfinished(contention->locks, (uint16_t)i).count > 0)
            rc = fill_lock(contention, labels, (uint16_t)i, report);
    }
    if (rc == 0 && idle > 0)
        rc = report_add_note(report,
                             "Not among the locks: threads that worked for no op waited %" PRIu64
                             " time%s for condition variables, %.2f s in all: they had nothing to "
                             "do.",
                             idle, plural(idle), (double)idle_ns / 1e9);
    if (rc == 0 && report->lock_count > 0)
        qsort(report->locks, report->lock_count, sizeof(*report->locks), by_wait_total);
    return rc;
}
