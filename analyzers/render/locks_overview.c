/* SPDX-License-Identifier: MIT */
/* A line a lock, and which of them are looked at more closely. */
#include <stdio.h>
#include <string.h>

#include "locks_overview.h"
#include "text_out.h"
#include "units.h"

/* A lock with less than this part of all that is waited for is not looked at more closely. */
#define SMALL      0.01
#define NAME_WIDTH 46

static double all_waits(const struct report *report)
{
    double sum = 0;
    for (size_t i = 0; i < report->lock_count; i++)
        sum += (double)report->locks[i].wait_total_ns;
    return sum;
}

bool locks_matters(const struct report *report, const struct report_lock *lock)
{
    if ((double)lock->wait_total_ns >= SMALL * all_waits(report))
        return true;
    for (size_t i = 0; i < report->verdict_count; i++)
        if (strncmp(report->verdicts[i].cause, "lock:", 5) == 0 &&
            strcmp(report->verdicts[i].cause + 5, lock->name) == 0)
            return true;
    return false;
}

const char *locks_kind_words(const char *kind)
{
    if (strcmp(kind, "condvar_internal") == 0)
        return "inside a condition variable";
    return strncmp(kind, "rwlock_", 7) == 0 ? "rwlock" : kind; /* both sides of it */
}

void locks_overview(const struct report *report, bool all, FILE *out)
{
    double sum = all_waits(report);
    size_t left_out = 0;
    uint64_t left_out_ns = 0;
    char number[24];

    if (report->lock_count == 0)
        return;
    fprintf(out, "\n%-*s%9s%10s%7s%10s%10s%8s\n", NAME_WIDTH, "locks, by the time waited for them",
            "waits", "waited", "share", "p50", "p99", "busy");
    for (size_t i = 0; i < report->lock_count; i++) {
        const struct report_lock *lock = &report->locks[i];
        if (!all && !locks_matters(report, lock)) {
            left_out++;
            left_out_ns += lock->wait_total_ns;
            continue;
        }
        text_name(out, lock->name, NAME_WIDTH - 1);
        fputc(' ', out);
        fprintf(out, "%9s", unit_count(lock->waits, number, sizeof(number)));
        text_duration(out, lock->wait_total_ns, 10);
        fprintf(out, "%5.0f %%", sum > 0 ? 100 * (double)lock->wait_total_ns / sum : 0);
        text_duration(out, lock->wait.p50, 10);
        text_duration(out, lock->wait.p99, 10);
        if (lock->busy > 0)
            fprintf(out, "%6.1f %%\n", 100 * lock->busy);
        else
            fprintf(out, "%8s\n", "?");
    }
    if (left_out > 0)
        fprintf(out, "and %zu lock%s with less than %.0f %% of it each, %s together: --all-locks\n",
                left_out, left_out == 1 ? "" : "s", 100 * SMALL,
                unit_duration(left_out_ns, number, sizeof(number)));
}
