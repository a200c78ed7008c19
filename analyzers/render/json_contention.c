/* SPDX-License-Identifier: MIT */
/* The rows of locks, queues and what threads do. */
#include "json_fields.h"

#include "report.h"

static const struct field part_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_part, name)},
    {.key = "count", FIELD_UNSIGNED, offsetof(struct report_part, count)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_part, ns)},
    {.key = "share", FIELD_REAL, offsetof(struct report_part, share)},
    {0},
};

static const struct field thread_fields[] = {
    {.key = "pid", FIELD_INT, offsetof(struct report_lock_thread, pid)},
    {.key = "tid", FIELD_INT, offsetof(struct report_lock_thread, tid)},
    {.key = "acquired", FIELD_UNSIGNED, offsetof(struct report_lock_thread, acquired)},
    {.key = "waits", FIELD_UNSIGNED, offsetof(struct report_lock_thread, waits)},
    {.key = "wait_ns", FIELD_UNSIGNED, offsetof(struct report_lock_thread, wait_ns)},
    {.key = "blocked", FIELD_UNSIGNED, offsetof(struct report_lock_thread, blocked)},
    {.key = "blocked_ns", FIELD_UNSIGNED, offsetof(struct report_lock_thread, blocked_ns)},
    {0},
};

static const struct field instance_fields[] = {
    {.key = "pid", FIELD_INT, offsetof(struct report_lock_instance, pid)},
    {.key = "instance", FIELD_TEXT, offsetof(struct report_lock_instance, name)},
    {.key = "waits", FIELD_UNSIGNED, offsetof(struct report_lock_instance, waits)},
    {.key = "wait_ns", FIELD_UNSIGNED, offsetof(struct report_lock_instance, wait_ns)},
    {.key = "busy", FIELD_REAL, offsetof(struct report_lock_instance, busy)},
    {0},
};

static const struct field site_fields[] = {
    {.key = "frames", FIELD_TEXT, offsetof(struct report_lock_site, frames)},
    {.key = "waits", FIELD_UNSIGNED, offsetof(struct report_lock_site, waits)},
    {.key = "wait_ns", FIELD_UNSIGNED, offsetof(struct report_lock_site, wait_ns)},
    {0},
};

const struct field lock_fields[] = {
    {.key = "name", FIELD_TEXT, offsetof(struct report_lock, name)},
    {.key = "kind", FIELD_TEXT, offsetof(struct report_lock, kind)},
    {.key = "class", FIELD_TEXT, offsetof(struct report_lock, class)},
    {.key = "member", FIELD_TEXT, offsetof(struct report_lock, member)},
    {.key = "stage", FIELD_TEXT, offsetof(struct report_lock, stage)},
    {.key = "instance", FIELD_TEXT, offsetof(struct report_lock, instance)},
    {.key = "instances", FIELD_UNSIGNED, offsetof(struct report_lock, instances)},
    {.key = "acquisitions", FIELD_UNSIGNED, offsetof(struct report_lock, acquisitions)},
    {.key = "waits", FIELD_UNSIGNED, offsetof(struct report_lock, waits)},
    {.key = "wait_ns", FIELD_OBJECT, offsetof(struct report_lock, wait), .fields = latency_fields},
    {.key = "wait_total_ns", FIELD_UNSIGNED, offsetof(struct report_lock, wait_total_ns)},
    {.key = "handover_ns", FIELD_UNSIGNED, offsetof(struct report_lock, handover_ns)},
    {.key = "hold_ns", FIELD_OBJECT, offsetof(struct report_lock, hold), .fields = latency_fields},
    {.key = "hold_total_ns", FIELD_UNSIGNED, offsetof(struct report_lock, hold_total_ns)},
    {.key = "holds_unmeasured", FIELD_UNSIGNED, offsetof(struct report_lock, holds_unmeasured)},
    {.key = "contended", FIELD_REAL, offsetof(struct report_lock, contended)},
    {.key = "busy", FIELD_REAL, offsetof(struct report_lock, busy)},
    {.key = "busy_low", FIELD_REAL, offsetof(struct report_lock, busy_low)},
    {.key = "busy_high", FIELD_REAL, offsetof(struct report_lock, busy_high)},
    {.key = "ceiling_ops_per_s", FIELD_ROUNDED, offsetof(struct report_lock, ceiling_ops_per_s)},
    {.key = "fairness", FIELD_REAL, offsetof(struct report_lock, fairness)},
    {.key = "waiters",
     FIELD_ROWS,
     offsetof(struct report_lock, waiters),
     offsetof(struct report_lock, waiter_count),
     sizeof(struct report_part),
     part_fields},
    {.key = "holders",
     FIELD_ROWS,
     offsetof(struct report_lock, holders),
     offsetof(struct report_lock, holder_count),
     sizeof(struct report_part),
     part_fields},
    {.key = "threads",
     FIELD_ROWS,
     offsetof(struct report_lock, threads),
     offsetof(struct report_lock, thread_count),
     sizeof(struct report_lock_thread),
     thread_fields},
    {.key = "hottest",
     FIELD_ROWS,
     offsetof(struct report_lock, hottest),
     offsetof(struct report_lock, hottest_count),
     sizeof(struct report_lock_instance),
     instance_fields},
    {.key = "sites",
     FIELD_ROWS,
     offsetof(struct report_lock, sites),
     offsetof(struct report_lock, site_count),
     sizeof(struct report_lock_site),
     site_fields},
    {.key = "meanwhile_running_ns", FIELD_UNSIGNED, offsetof(struct report_lock, running_ns)},
    {.key = "meanwhile_runnable_ns", FIELD_UNSIGNED, offsetof(struct report_lock, runnable_ns)},
    {.key = "meanwhile_disk_ns", FIELD_UNSIGNED, offsetof(struct report_lock, disk_ns)},
    {.key = "meanwhile_asleep_ns", FIELD_UNSIGNED, offsetof(struct report_lock, asleep_ns)},
    {.key = "meanwhile_chain_ns", FIELD_UNSIGNED, offsetof(struct report_lock, chain_ns)},
    {.key = "unfinished", FIELD_UNSIGNED, offsetof(struct report_lock, unfinished)},
    {.key = "unfinished_longest_ns",
     FIELD_UNSIGNED,
     offsetof(struct report_lock, unfinished_longest_ns)},
    {0},
};

const struct field queue_fields[] = {
    {.key = "stage", FIELD_TEXT, offsetof(struct report_queue, stage)},
    {.key = "ops", FIELD_UNSIGNED, offsetof(struct report_queue, ops)},
    {.key = "rate", FIELD_REAL, offsetof(struct report_queue, rate)},
    {.key = "wait_total_ns", FIELD_UNSIGNED, offsetof(struct report_queue, wait_total_ns)},
    {.key = "servers", FIELD_UNSIGNED, offsetof(struct report_queue, servers)},
    {.key = "busy", FIELD_REAL, offsetof(struct report_queue, busy)},
    {.key = "busiest", FIELD_REAL, offsetof(struct report_queue, busiest)},
    {.key = "service_ns", FIELD_ROUNDED, offsetof(struct report_queue, service_ns)},
    {.key = "batch", FIELD_REAL, offsetof(struct report_queue, batch)},
    {.key = "batches", FIELD_BOOL, offsetof(struct report_queue, batches)},
    {.key = "idle_share", FIELD_REAL, offsetof(struct report_queue, idle_share)},
    {.key = "ceiling_ops_per_s", FIELD_ROUNDED, offsetof(struct report_queue, ceiling_ops_per_s)},
    {.key = "parts",
     FIELD_ROWS,
     offsetof(struct report_queue, parts),
     offsetof(struct report_queue, part_count),
     sizeof(struct report_part),
     part_fields},
    {0},
};

const struct field activity_fields[] = {
    {.key = "stage", FIELD_TEXT, offsetof(struct report_activity, stage)},
    {.key = "ns", FIELD_UNSIGNED, offsetof(struct report_activity, ns)},
    {.key = "locks_ns", FIELD_UNSIGNED, offsetof(struct report_activity, locks_ns)},
    {.key = "parts",
     FIELD_ROWS,
     offsetof(struct report_activity, parts),
     offsetof(struct report_activity, part_count),
     sizeof(struct report_part),
     part_fields},
    {0},
};

const struct field load_fields[] = {
    {.key = "seconds", FIELD_REAL, offsetof(struct report, load.seconds)},
    {.key = "in_flight", FIELD_REAL, offsetof(struct report, load.in_flight)},
    {.key = "peak", FIELD_REAL, offsetof(struct report, load.peak)},
    {.key = "rate", FIELD_REAL, offsetof(struct report, load.rate)},
    {.key = "known", FIELD_BOOL, offsetof(struct report, load.known)},
    {.key = "locks_known", FIELD_BOOL, offsetof(struct report, load.locks_known)},
    {.key = "locks", FIELD_UNSIGNED, offsetof(struct report, load.locks)},
    {.key = "acquisitions", FIELD_UNSIGNED, offsetof(struct report, load.acquisitions)},
    {0},
};

const struct field cpu_fields[] = {
    {.key = "known", FIELD_BOOL, offsetof(struct report, cpu.known)},
    {.key = "seconds", FIELD_REAL, offsetof(struct report, cpu.seconds)},
    {.key = "cpus", FIELD_UNSIGNED, offsetof(struct report, cpu.cpus)},
    {.key = "busy", FIELD_REAL, offsetof(struct report, cpu.busy)},
    {.key = "run_ns", FIELD_UNSIGNED, offsetof(struct report, cpu.run_ns)},
    {.key = "wait_ns", FIELD_UNSIGNED, offsetof(struct report, cpu.wait_ns)},
    {.key = "threads", FIELD_UNSIGNED, offsetof(struct report, cpu.threads)},
    {.key = "ended", FIELD_UNSIGNED, offsetof(struct report, cpu.ended)},
    {0},
};
