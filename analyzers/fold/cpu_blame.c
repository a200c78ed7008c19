/* SPDX-License-Identifier: MIT */
#include "cpu_blame.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

double cpu_waiting(const struct report *report)
{
    double wait = (double)report->cpu.wait_ns, run = (double)report->cpu.run_ns;

    return report->cpu.known && wait + run > 0 ? wait / (wait + run) : 0;
}

/* How much of the time between the two looks ops were followed. */
static double part_followed(const struct report *report)
{
    double seconds =
        report->source.traced_seconds > 0 ? report->source.traced_seconds : report->source.seconds;

    return fmin(1, seconds / report->cpu.seconds);
}

/* How long threads were wanted by ops, ns: busy with them, asleep or not, but for waiting at locks;
 * and late to take one. Those of a queue that are late at once are so for one reason, be it that
 * who has to wake them does not run: that counts as one. */
static double wanted(const struct report *report)
{
    double sum = 0;

    for (size_t i = 0; i < report->activity_count; i++)
        sum += (double)(report->activities[i].ns - report->activities[i].locks_ns);
    for (size_t i = 0; i < report->queue_count; i++) {
        const struct report_queue *queue = &report->queues[i];
        double late = queue->idle_share * (double)queue->wait_total_ns;
        double free = (double)queue->servers * (1 - queue->busy) * report->load.seconds * 1e9;
        sum += fmin(late, fmin(fmax(free, 0), report->load.seconds * 1e9));
    }
    return sum;
}

static bool has_activity(const struct report *report, const struct blame_cause *cause)
{
    for (size_t i = 0; cause->stage && i < report->activity_count; i++)
        if (strcmp(report->activities[i].stage, cause->stage->name) == 0)
            return true;
    return false;
}

/* Of what ran on the CPUs, the part that was the daemon itself. */
static double own_part(const struct report_cpu *cpu)
{
    double ran = cpu->busy * cpu->seconds * 1e9 * (double)cpu->cpus;

    return ran > 0 ? fmin(1, (double)cpu->run_ns / ran) : 0;
}

/* Whether the daemon's own threads run on account of it. */
static bool is_own_doing(const struct blame_cause *cause)
{
    return cause->class == BLAME_WORK || cause->class == BLAME_LOCK ||
           cause->class == BLAME_ALLOCATOR;
}

/* While a thread waited for a CPU others had it, among them the daemon's own threads: that part of
 * the time goes to what these were at, which is what the ops wait for, as it was before (`shares`).
 * Returns what is left of `share`, for other programs. */
static double give_to_own_doing(const struct report *report, const double *shares, double share,
                                struct blame *blame)
{
    double all = 0, own = share * own_part(&report->cpu);

    for (size_t i = 0; i < blame->count; i++)
        all += is_own_doing(&blame->causes[i]) ? shares[i] : 0;
    if (all <= 0)
        return share;
    for (size_t i = 0; i < blame->count; i++)
        if (is_own_doing(&blame->causes[i]))
            blame->causes[i].share += own * shares[i] / all;
    return share - own;
}

/* Which part of what a cause has is waiting for a CPU, when threads that ops want wait for one in
 * the part `waiting` of the time. */
static double part_of(const struct report *report, const struct blame_cause *cause, double waiting)
{
    const struct report_lock *lock = cause->lock;
    uint64_t seen = lock ? lock->running_ns + lock->runnable_ns + lock->disk_ns + lock->asleep_ns +
                               lock->chain_ns
                         : 0;

    switch (cause->class) {
    case BLAME_LOCK: /* a thread sleeps there, and needs a CPU again, only because it is contended:
                      * the lock's, but for what its owners are known to have waited */
    case BLAME_ALLOCATOR:
        return seen ? (double)lock->runnable_ns / (double)seen : 0;
    case BLAME_DEVICE:
    case BLAME_NETWORK: /* nobody's thread stands there, or one does */
        return has_activity(report, cause) ? waiting : 0;
    case BLAME_THROTTLE: /* it is too small, however fast the rest is */
        return 0;
    default:
        return waiting;
    }
}

void cpu_blame(const struct report *report, struct blame *blame)
{
    double moved = 0, most = 1, time = 0, shares[BLAME_CAUSES];

    if (!report->cpu.known || report->cpu.seconds <= 0 || blame->count == BLAME_CAUSES)
        return;
    double part = part_followed(report);
    double wait = part * (double)report->cpu.wait_ns, run = part * (double)report->cpu.run_ns;
    for (size_t i = 0; i < report->op_count; i++)
        time += (double)report->ops[i].total_ns;
    double waiting = wait / fmax(fmax(wait + run, wanted(report)), 1);
    /* what a thread's waiting means to the ops behind it is known only where threads are followed
     */
    if (!report->load.known && time > 0)
        most = fmin(1, wait / time);
    for (size_t i = 0; i < blame->count; i++)
        moved += blame->causes[i].share * part_of(report, &blame->causes[i], waiting);
    double scale = moved > most ? most / moved : 1;
    for (size_t i = 0; i < blame->count; i++) {
        shares[i] = blame->causes[i].share;
        blame->causes[i].share *= 1 - scale * part_of(report, &blame->causes[i], waiting);
    }
    double share = give_to_own_doing(report, shares, scale * moved, blame);
    blame->causes[blame->count++] =
        (struct blame_cause){.class = BLAME_CPU, .name = "", .share = share};
}

void cpu_blame_words(const struct report *report, char *text, size_t size)
{
    const struct report_cpu *cpu = &report->cpu;
    double seconds = cpu->seconds > 0 ? cpu->seconds : 1;
    double own = cpu->cpus ? (double)cpu->run_ns / 1e9 / seconds / (double)cpu->cpus : 0;

    text[0] = '\0';
    if (!cpu->known)
        return;
    size_t used = (size_t)snprintf(
        text, size, "in a second its threads ran for %.2f s and waited for a CPU for %.2f s; ",
        (double)cpu->run_ns / 1e9 / seconds, (double)cpu->wait_ns / 1e9 / seconds);
    if (cpu->cpus == 1)
        used += (size_t)snprintf(text + used, size - used, "the only CPU that it may use was");
    else
        used += (size_t)snprintf(text + used, size - used, "the %" PRIu64 " CPUs were", cpu->cpus);
    snprintf(text + used, size - used, " busy %.0f %% of the time, with this daemon %.0f %%",
             100 * cpu->busy, 100 * own);
}
