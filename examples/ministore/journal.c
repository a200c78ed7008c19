/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include <errno.h>
#include <optrail/probe.h>
#include <string.h>

#include "clock.h"
#include "daemon_log.h"
#include "inject.h"

/* A batch ends before it is larger than this, unless its first entry is. */
#define BATCH_BYTES (4ull << 20)

void journal_submit(struct journal *journal, struct request *request)
{
    lock_take(&journal->lock);
    request->sequence = ++journal->sequence;
    OPTRAIL(filestore_sequence, request, request->sequence, OPTRAIL_KEY_sequence);
    OPTRAIL(journal_submit, request->sequence, request->frame.length, 0);
    request->older = journal->newest;
    request->newer = NULL;
    if (journal->newest)
        journal->newest->newer = request;
    else
        journal->oldest = request;
    journal->newest = request;
    node_list_push(&journal->queue, &request->node);
    pthread_cond_signal(&journal->filled);
    lock_give(&journal->lock);
}

void journal_applied(struct journal *journal, struct request *request, bool keep)
{
    bool filling = journal_ring_is_filling(&journal->ring);
    if (keep) /* its room never comes free: the writer must not wait for it */
        journal_ring_stop(&journal->ring);
    lock_take(&journal->lock);
    if (keep && request->sequence <= journal->pinned)
        journal->pinned = request->sequence - 1;
    if (request->older)
        request->older->newer = request->newer;
    else
        journal->oldest = request->newer;
    if (request->newer)
        request->newer->older = request->older;
    else
        journal->newest = request->older;
    if (filling) {
        journal->wants_trim = true;
        pthread_cond_signal(&journal->trim);
    }
    lock_give(&journal->lock);
}

uint64_t journal_applied_through(struct journal *journal)
{
    lock_take(&journal->lock);
    uint64_t through = journal->oldest ? journal->oldest->sequence - 1 : journal->sequence;
    if (through > journal->pinned)
        through = journal->pinned;
    lock_give(&journal->lock);
    return through;
}

bool journal_wait_trim(struct journal *journal, uint64_t interval_ns)
{
    struct timespec until = clock_timespec(clock_now_ns() + interval_ns);
    lock_take(&journal->lock);
    int result = 0;
    while (!journal->trim_stopped && !journal->wants_trim && result == 0)
        result = lock_wait_until(&journal->lock, &journal->trim, &until);
    journal->wants_trim = false;
    bool go_on = !journal->trim_stopped;
    lock_give(&journal->lock);
    return go_on;
}

void journal_stop_trim(struct journal *journal)
{
    lock_take(&journal->lock);
    journal->trim_stopped = true;
    pthread_cond_broadcast(&journal->trim);
    lock_give(&journal->lock);
}

/* Takes the next batch; 0 when stopped and empty. */
static unsigned take_batch(struct journal *journal, struct request **batch, uint64_t *bytes)
{
    unsigned count = 0;
    *bytes = 0;
    lock_take(&journal->lock);
    while (!journal->queue.first && !journal->stopped)
        lock_wait(&journal->lock, &journal->filled);
    while (journal->queue.first && count < JOURNAL_BATCH_MAX) {
        uint64_t more = journal_ring_bytes(request_of(journal->queue.first));
        if (count && *bytes + more > BATCH_BYTES)
            break;
        batch[count++] = request_of(node_list_pop(&journal->queue));
        *bytes += more;
    }
    lock_give(&journal->lock);
    return count;
}

static void *write_batches(void *argument)
{
    struct journal *journal = argument;
    struct request *batch[JOURNAL_BATCH_MAX];
    uint64_t bytes;
    unsigned count;
    int failed = 0; /* once it could not be written, what follows would never be replayed */
    while ((count = take_batch(journal, batch, &bytes))) {
        if (!failed && !journal_ring_wait_room(&journal->ring, bytes))
            failed = ESHUTDOWN;
        inject_delay(INJECT_JOURNAL_QUEUE, count);
        for (unsigned i = 0; i < count; i++)
            OPTRAIL(journal_write_begin, batch[i]->sequence, 0, 0);
        if (!failed) {
            failed = journal_ring_write(&journal->ring, batch, count);
            if (failed)
                log_error("the journal cannot be written: %s; all writes are refused from now on",
                          strerror(failed));
        }
        inject_delay(INJECT_JOURNAL_WRITE, count);
        inject_delay(INJECT_SLOW_JOURNAL, count);
        for (unsigned i = 0; i < count; i++) {
            OPTRAIL(journal_write_end, batch[i]->sequence, 0, 0);
            journal->written(journal->context, batch[i], failed);
        }
    }
    return NULL;
}

int journal_start(struct journal *journal, void (*written)(void *, struct request *, int),
                  void *context)
{
    journal->written = written;
    journal->context = context;
    journal->sequence = journal->ring.trimmed;
    journal->pinned = UINT64_MAX;
    node_list_init(&journal->queue);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    lock_init(&journal->lock, LOCK_KIND_MUTEX, LOCK_JOURNAL, 0);
    pthread_cond_init(&journal->filled, NULL);
    pthread_cond_init(&journal->trim, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&journal->writer, NULL, write_batches, journal) != 0)
        return log_error("no thread for the journal's writer");
    journal->running = true;
    return 0;
}

void journal_stop(struct journal *journal)
{
    if (!journal->running)
        return;
    lock_take(&journal->lock);
    journal->stopped = true;
    pthread_cond_broadcast(&journal->filled);
    lock_give(&journal->lock);
    pthread_join(journal->writer, NULL);
    journal->running = false;
}
