/* SPDX-License-Identifier: MIT */
#include "event_relay.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"

/* Large enough that waking the other thread costs an event next to nothing, small enough that the
 * ring stays in the caches that the CPUs share: 8 * 2048 * 48 bytes, and the texts where there are
 * any. */
#define BATCH_EVENTS 2048
#define BATCH_LOSSES 64
#define BATCH_TEXT   (2 * (EVENT_TEXT_MAX + 1))
#define BATCHES      8

/* Events and losses in the order in which they came. */
struct batch {
    size_t count, loss_count, text_used;
    struct optrail_event events[BATCH_EVENTS];
    struct loss {
        size_t before; /* which of the events it was told */
        uint64_t count, begin_ns, end_ns;
    } losses[BATCH_LOSSES];
    char text[BATCH_TEXT]; /* of the events that have one */
};

struct event_relay {
    struct event_consumer to, from;
    struct batch *batches; /* BATCHES of them; pages that are never used cost nothing */
    struct batch *filling; /* the reader's; weak */
    bool threaded, alone;  /* alone: it shall have no thread */
    pthread_t thread;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    size_t handed, taken; /* batches, since the beginning */
    bool ended;
    int result; /* of the consumer */
    char message[1024];
};

static int deliver(const struct event_relay *relay, const struct batch *batch)
{
    const struct event_consumer *to = &relay->to;
    size_t loss = 0;
    int result = 0;

    for (size_t i = 0; i <= batch->count && result >= 0; i++) {
        for (; loss < batch->loss_count && batch->losses[loss].before == i && result >= 0; loss++)
            if (to->lost)
                result = to->lost(to->context, batch->losses[loss].count,
                                  batch->losses[loss].begin_ns, batch->losses[loss].end_ns);
        if (i < batch->count && to->event && result >= 0)
            result = to->event(to->context, &batch->events[i]);
    }
    return result < 0 ? result : 0;
}

static void *fold(void *argument)
{
    struct event_relay *relay = argument;

    pthread_mutex_lock(&relay->lock);
    while (relay->result == 0) {
        while (relay->taken == relay->handed && !relay->ended)
            pthread_cond_wait(&relay->changed, &relay->lock);
        if (relay->taken == relay->handed)
            break;
        const struct batch *batch = &relay->batches[relay->taken % BATCHES];
        pthread_mutex_unlock(&relay->lock);
        int result = deliver(relay, batch);
        pthread_mutex_lock(&relay->lock);
        relay->taken++;
        relay->result = result;
        if (result < 0)
            snprintf(relay->message, sizeof(relay->message), "%s", err_message());
        pthread_cond_signal(&relay->changed);
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

/* Signals stay with the thread that reads: it is the one that looks whether it shall stop. */
static bool start_thread(struct event_relay *relay)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    relay->threaded = pthread_create(&relay->thread, NULL, fold, relay) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    relay->alone = !relay->threaded;
    return relay->threaded;
}

static void empty(struct batch *batch)
{
    batch->count = batch->loss_count = batch->text_used = 0;
}

/* The result as this thread's; under the lock, where there is another. */
static int told(const struct event_relay *relay)
{
    return relay->result < 0 ? err_set(-relay->result, "%s", relay->message) : 0;
}

/* Without a thread: here and now. */
static int deliver_alone(struct event_relay *relay)
{
    if (relay->result == 0) {
        relay->result = deliver(relay, relay->filling);
        if (relay->result < 0)
            snprintf(relay->message, sizeof(relay->message), "%s", err_message());
    }
    empty(relay->filling);
    return told(relay);
}

static int hand_over(struct event_relay *relay)
{
    if (!relay->threaded && (relay->alone || !start_thread(relay)))
        return deliver_alone(relay);
    pthread_mutex_lock(&relay->lock);
    relay->handed++;
    pthread_cond_signal(&relay->changed);
    while (relay->handed - relay->taken == BATCHES && relay->result == 0)
        pthread_cond_wait(&relay->changed, &relay->lock);
    int result = told(relay);
    relay->filling = &relay->batches[relay->handed % BATCHES];
    pthread_mutex_unlock(&relay->lock);
    empty(relay->filling);
    return result;
}

static bool has_text(const struct optrail_event *event)
{
    return event->arg0 && event->point < POINT_COUNT && point_rows[event->point].role == ROLE_TEXT;
}

/* The text is the reader's only until the callback returns. */
static int keep_text(struct event_relay *relay, const struct optrail_event *event, uint64_t *kept)
{
    const char *text = (const char *)(uintptr_t)event->arg0;
    size_t size = strnlen(text, EVENT_TEXT_MAX) + 1;
    int result = 0;

    if (relay->filling->text_used + size > BATCH_TEXT)
        result = hand_over(relay);
    if (result < 0)
        return result;
    char *to = relay->filling->text + relay->filling->text_used;
    memcpy(to, text, size - 1);
    to[size - 1] = '\0';
    relay->filling->text_used += size;
    *kept = (uintptr_t)to;
    return 0;
}

static int take_event(void *context, const struct optrail_event *event)
{
    struct event_relay *relay = context;
    uint64_t text = event->arg0;
    int result = 0;

    if (__builtin_expect(has_text(event), 0))
        result = keep_text(relay, event, &text);
    if (result < 0)
        return result;
    struct batch *batch = relay->filling;
    struct optrail_event *kept = &batch->events[batch->count++];
    *kept = *event;
    kept->arg0 = text;
    return batch->count == BATCH_EVENTS ? hand_over(relay) : 0;
}

static int take_loss(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct event_relay *relay = context;
    struct batch *batch = relay->filling;

    batch->losses[batch->loss_count++] = (struct loss){batch->count, count, begin_ns, end_ns};
    return batch->loss_count == BATCH_LOSSES ? hand_over(relay) : 0;
}

static bool has_one_cpu(void)
{
    cpu_set_t cpus;

    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2;
}

int event_relay_new(const struct event_consumer *to, struct event_relay **relay)
{
    struct event_relay *made = calloc(1, sizeof(*made));

    if (made)
        made->batches = calloc(BATCHES, sizeof(*made->batches));
    if (!made || !made->batches) {
        free(made);
        return err_no_memory();
    }
    made->to = *to;
    made->from = (struct event_consumer){
        .context = made, .event = take_event, .lost = take_loss, .watch = to->watch};
    made->filling = made->batches;
    made->alone = has_one_cpu();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    *relay = made;
    return 0;
}

const struct event_consumer *event_relay_consumer(const struct event_relay *relay)
{
    return &relay->from;
}

int event_relay_end(struct event_relay *relay)
{
    if (!relay->threaded)
        return deliver_alone(relay);
    pthread_mutex_lock(&relay->lock);
    if (relay->result == 0)
        relay->handed++; /* there is room: hand_over() waited for it */
    relay->ended = true;
    pthread_cond_signal(&relay->changed);
    pthread_mutex_unlock(&relay->lock);
    pthread_join(relay->thread, NULL);
    relay->threaded = false;
    return told(relay);
}

void event_relay_free(struct event_relay *relay)
{
    if (!relay)
        return;
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    free(relay->batches);
    free(relay);
}
