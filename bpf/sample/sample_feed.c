/* SPDX-License-Identifier: MIT */
#include "sample_feed.h"

#include <stdio.h>

#include "err.h"
#include "sample_texts.h"
#include "symbols.h"

#define MAX_TEXT EVENT_TEXT_MAX

/* Text `number`, which begins with what is not told, as an event of this thread. */
static int tell(struct sample_feed *feed, const struct optrail_event *event, uint32_t number,
                size_t skip)
{
    struct optrail_event telling = *event;
    if (!told_texts_due(&feed->told, number, event->time_ns))
        return 0;
    telling.arg0 = (uint64_t)(uintptr_t)(sample_texts_text(feed->texts, number) + skip);
    return merged_feed_add(feed->merged, &telling);
}

/* Number of the stack, which is told if need be; 0: none. The kernel's frames are the inner ones.
 * A stack's number is that of its process: equal ones of two processes are two. */
static int number_stack(struct sample_feed *feed, const struct thread_sample *sample, uint32_t pid,
                        const char *user, const char *kernel, uint32_t *stack)
{
    char text[MAX_TEXT + 1];
    int prefix = snprintf(text, sizeof(text), "%u/", pid);
    *stack = 0;
    if (!user && !kernel)
        return 0;
    int length =
        prefix + snprintf(text + prefix, sizeof(text) - (size_t)prefix, "%s%s%s",
                          kernel ? kernel : "", kernel && user ? ";" : "", user ? user : "");
    if (length >= (int)sizeof(text))
        length = (int)sizeof(text) - 1;
    uint32_t number = sample_texts_number(feed->texts, text, (size_t)length);
    if (!number) {
        feed->stacks_left_out++;
        return 0;
    }
    *stack = SAMPLE_FEED_STACKS + number;
    struct optrail_event event = {.time_ns = sample->end_ns,
                                  .key = *stack,
                                  .arg1 = symbols_text_depth(text + prefix),
                                  .pid = sample->pid,
                                  .tid = sample->tid,
                                  .point = POINT_stack_define};
    return tell(feed, &event, number, (size_t)prefix);
}

static int tell_name(struct sample_feed *feed, const struct thread_sample *sample, uint32_t pid,
                     uint32_t tid, const char *name)
{
    char text[64];
    int prefix = snprintf(text, sizeof(text), "%u.%u/", pid, tid);
    int length = prefix + snprintf(text + prefix, sizeof(text) - (size_t)prefix, "%s", name);
    uint32_t number =
        name && *name && tid ? sample_texts_number(feed->texts, text, (size_t)length) : 0;
    struct optrail_event event = {
        .time_ns = sample->end_ns, .pid = pid, .tid = tid, .point = POINT_thread_named};
    return number ? tell(feed, &event, number, (size_t)prefix) : 0;
}

static int take(void *context, const struct sample *taken)
{
    struct sample_feed *feed = context;
    const struct sample_waking *waker = taken->waker;
    struct optrail_event events[THREAD_SAMPLE_EVENTS];
    if (!(feed->kinds >> taken->kind & 1) || taken->count == 0)
        return 0;
    struct thread_sample sample = {
        .spent_ns = taken->value_ns / taken->count,
        .pid = taken->pid,
        .tid = taken->tid,
        .weight = taken->count < UINT32_MAX ? (uint32_t)taken->count : UINT32_MAX,
        .kind = (uint16_t)taken->kind,
        .reason = (uint16_t)taken->reason,
    };
    sample.end_ns = taken->begin_ns + (taken->kind == SAMPLE_ON_CPU ? 0 : sample.spent_ns);
    int error = tell_name(feed, &sample, taken->pid, taken->tid, taken->thread);
    if (!error)
        error = number_stack(feed, &sample, taken->pid, taken->user, taken->kernel, &sample.stack);
    if (!error && waker) {
        sample.waker_pid = waker->pid;
        sample.waker_tid = waker->tid;
        error = tell_name(feed, &sample, waker->pid, waker->tid, waker->thread);
        /* told by the one who slept: it is a stack of that process's table */
        if (!error)
            error = number_stack(feed, &sample, taken->pid, waker->user, waker->kernel,
                                 &sample.waker_stack);
    }
    size_t count = thread_sample_events(&sample, events);
    for (size_t i = 0; i < count && !error; i++)
        error = merged_feed_add(feed->merged, &events[i]);
    feed->samples += sample.weight;
    return error;
}

static int poll(void *context, struct merged_feed *merged)
{
    struct sample_feed *feed = context;
    (void)merged;
    return sample_capture_poll(feed->capture, take, feed);
}

static int finish(void *context, struct merged_feed *merged)
{
    struct sample_feed *feed = context;
    (void)merged;
    return sample_capture_finish(feed->capture, take, feed);
}

int sample_feed_join(struct sample_feed *feed, struct merged_feed *merged,
                     struct sample_capture *capture, uint32_t kinds)
{
    const struct merged_source source = {.context = feed, .poll = poll, .finish = finish};
    *feed = (struct sample_feed){.merged = merged, .capture = capture, .kinds = kinds};
    merged_feed_source(merged, &source);
    return sample_texts_new(&feed->texts);
}

void sample_feed_free(struct sample_feed *feed)
{
    sample_texts_free(feed->texts);
    told_texts_free(&feed->told);
    *feed = (struct sample_feed){0};
}
