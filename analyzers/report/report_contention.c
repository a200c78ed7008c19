/* SPDX-License-Identifier: MIT */
/* The report's rows of locks, queues and what threads do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "report.h"
#include "report_rows.h"

void *report_append(void *array_pointer /* T **, whatever T is */, size_t *count, size_t size)
{
    char *bigger;

    memcpy(&bigger, array_pointer, sizeof(bigger));

    /* the arrays grow at powers of two: reallocated only when full */
    if ((*count & (*count - 1)) == 0) {
        size_t capacity = *count ? *count * 2 : 1;
        bigger = reallocarray(bigger, capacity, size);
        if (!bigger) {
            err_no_memory();
            return NULL;
        }
        memcpy(array_pointer, &bigger, sizeof(bigger));
    }
    memset(bigger + *count * size, 0, size);
    return bigger + (*count)++ * size;
}

int report_add_lock(struct report *report, const char *name, struct report_lock **lock)
{
    struct report_lock *row = report_append(&report->locks, &report->lock_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *lock = row;
    if (report_set_string(&row->name, name) < 0 || report_set_string(&row->kind, "") < 0 ||
        report_set_string(&row->class, "") < 0 || report_set_string(&row->member, "") < 0 ||
        report_set_string(&row->stage, "") < 0 || report_set_string(&row->instance, "") < 0)
        return -ENOMEM;
    return 0;
}

int report_add_queue(struct report *report, const char *stage, struct report_queue **queue)
{
    struct report_queue *row = report_append(&report->queues, &report->queue_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *queue = row;
    return report_set_string(&row->stage, stage);
}

int report_add_activity(struct report *report, const char *stage, struct report_activity **activity)
{
    struct report_activity *row =
        report_append(&report->activities, &report->activity_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *activity = row;
    return report_set_string(&row->stage, stage);
}

int report_add_part(struct report_part **parts, size_t *count, const char *name, uint64_t ns)
{
    struct report_part *row;

    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*parts)[i].name, name) == 0) {
            (*parts)[i].ns += ns;
            return 0;
        }
    }
    row = report_append(parts, count, sizeof(*row));
    if (!row)
        return -ENOMEM;
    row->ns = ns;
    return report_set_string(&row->name, name);
}

int report_add_lock_thread(struct report_lock *lock, const struct report_lock_thread *thread)
{
    struct report_lock_thread *row =
        report_append(&lock->threads, &lock->thread_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = *thread;
    return 0;
}

int report_add_lock_instance(struct report_lock *lock, const char *name,
                             const struct report_lock_instance *instance)
{
    struct report_lock_instance *row =
        report_append(&lock->hottest, &lock->hottest_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    *row = *instance;
    row->name = NULL;
    return report_set_string(&row->name, name);
}

int report_add_lock_site(struct report_lock *lock, const char *frames, uint64_t waits,
                         uint64_t wait_ns)
{
    struct report_lock_site *row = report_append(&lock->sites, &lock->site_count, sizeof(*row));

    if (!row)
        return -ENOMEM;
    row->waits = waits;
    row->wait_ns = wait_ns;
    return report_set_string(&row->frames, frames);
}

static int by_time(const void *a, const void *b)
{
    const struct report_part *left = a, *right = b;

    if (left->ns != right->ns)
        return left->ns < right->ns ? 1 : -1;
    return strcmp(left->name, right->name);
}

void report_sort_parts(struct report_part *parts, size_t count)
{
    double all = 0;

    if (count == 0)
        return;
    qsort(parts, count, sizeof(*parts), by_time);
    for (size_t i = 0; i < count; i++)
        all += (double)parts[i].ns;
    for (size_t i = 0; i < count; i++)
        parts[i].share = all > 0 ? (double)parts[i].ns / all : 0;
}
