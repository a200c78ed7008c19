/* SPDX-License-Identifier: MIT */
/* Events on their way to a consumer in another thread: none is lost, none changes its place, and
 * whatever goes wrong on either side, both come to an end. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "event_relay.h"

/* More than the ring holds, and no multiple of a batch. */
#define EVENTS     50003u
#define TEXT_EVERY 7u

/* What the consumer expects, and how it behaves. */
struct hearing {
    uint64_t events, losses, expected_losses;
    uint64_t fail_at;          /* event at which it fails; 0: never */
    atomic_uint_fast64_t told; /* where somebody counts what the reader has told ... */
    uint64_t hold;             /* ... it begins when that many were told, and looks how many */
    uint64_t lead;             /* the reader is ahead at most */
    pid_t thread;
};

/* Whether something is lost before the event; now and then more than a batch has room for. */
static bool is_lost(uint64_t number)
{
    return number % 101 == 0 || number % 9000 < 80;
}

static char long_text[EVENT_TEXT_MAX + 1];

/* The text of the event; now and then three as long as may be: a batch has no room for them. */
static const char *text_of(uint64_t number, char *room, size_t size)
{
    if (number % 7000 < 3 * TEXT_EVERY)
        return long_text;
    snprintf(room, size, "text %llu", (unsigned long long)number);
    return room;
}

static int hear(void *context, const struct optrail_event *event)
{
    struct hearing *hearing = context;
    char room[32];

    while (atomic_load(&hearing->told) < hearing->hold)
        sched_yield();
    uint64_t told = atomic_load(&hearing->told), lead = told - hearing->events;
    if (told > hearing->events && lead > hearing->lead)
        hearing->lead = lead;
    hearing->thread = gettid();
    assert_int_equal(event->time_ns, hearing->events);
    hearing->expected_losses += is_lost(hearing->events);
    assert_int_equal(hearing->losses, hearing->expected_losses);
    if (event->point == POINT_stack_define)
        assert_string_equal((const char *)(uintptr_t)event->arg0,
                            text_of(event->time_ns, room, sizeof(room)));
    else
        assert_int_equal(event->arg0, ~event->time_ns);
    hearing->events++;
    if (hearing->fail_at && hearing->events == hearing->fail_at)
        return err_set(ENOMEM, "no room for event %llu", (unsigned long long)hearing->fail_at);
    return 0;
}

static int hear_loss(void *context, uint64_t count, uint64_t begin_ns, uint64_t end_ns)
{
    struct hearing *hearing = context;

    assert_int_equal(begin_ns, hearing->events); /* before that event, behind all before it */
    assert_int_equal(end_ns, begin_ns + 1);
    assert_int_equal(count, begin_ns % 1000);
    hearing->losses++;
    return 0;
}

/* Tells so many events, with losses between them; stops where the consumer says so. */
static int tell(const struct event_consumer *to, uint64_t from, uint64_t count)
{
    int result = 0;

    for (uint64_t i = from; i < from + count && result == 0; i++) {
        char room[32];
        struct optrail_event event = {.time_ns = i, .arg0 = ~i, .point = POINT_op_start};
        if (i % TEXT_EVERY == 0) {
            event.point = POINT_stack_define;
            event.arg0 = (uintptr_t)text_of(i, room, sizeof(room));
        }
        if (is_lost(i))
            result = to->lost(to->context, i % 1000, i, i + 1);
        if (result == 0)
            result = to->event(to->context, &event);
        memset(room, 'x', sizeof(room)); /* it was the reader's only */
    }
    return result;
}

static struct event_relay *make(struct hearing *hearing)
{
    struct event_relay *relay = NULL;
    const struct event_consumer consumer = {.context = hearing, .event = hear, .lost = hear_loss};

    assert_int_equal(event_relay_new(&consumer, &relay), 0);
    return relay;
}

static unsigned cpus(cpu_set_t *set)
{
    assert_int_equal(sched_getaffinity(0, sizeof(*set), set), 0);
    return (unsigned)CPU_COUNT(set);
}

static void test_all_in_order(void **state)
{
    static const uint64_t counts[] = {0, 1, 2047, 2048, 2049, EVENTS};
    cpu_set_t set;
    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct hearing hearing = {0};
        struct event_relay *relay = make(&hearing);
        assert_int_equal(tell(event_relay_consumer(relay), 0, counts[i]), 0);
        assert_int_equal(event_relay_end(relay), 0);
        assert_int_equal(hearing.events, counts[i]);
        assert_int_equal(hearing.losses, hearing.expected_losses);
        /* few events are not worth a thread, many are */
        if (counts[i] > 0 && counts[i] < 100)
            assert_int_equal(hearing.thread, gettid());
        if (counts[i] == EVENTS && cpus(&set) > 1)
            assert_int_not_equal(hearing.thread, gettid());
        event_relay_free(relay);
    }
}

static void test_one_cpu_has_one_thread(void **state)
{
    cpu_set_t before, one;
    struct hearing hearing = {0};
    int first = 0;
    (void)state;
    cpus(&before);
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    struct event_relay *relay = make(&hearing);
    assert_int_equal(tell(event_relay_consumer(relay), 0, EVENTS), 0);
    assert_int_equal(event_relay_end(relay), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(hearing.events, EVENTS);
    assert_int_equal(hearing.thread, gettid());
    event_relay_free(relay);
}

static void test_no_thread_to_be_had(void **state)
{
    pthread_attr_t huge, before;
    struct hearing hearing = {0};
    (void)state;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    struct event_relay *relay = make(&hearing);
    assert_int_equal(tell(event_relay_consumer(relay), 0, EVENTS), 0);
    assert_int_equal(event_relay_end(relay), 0);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    assert_int_equal(hearing.events, EVENTS);
    assert_int_equal(hearing.thread, gettid());
    event_relay_free(relay);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&before);
}

static void test_the_consumer_fails(void **state)
{
    static const uint64_t at[] = {1, 2048, 2049, 20000, EVENTS - 1, EVENTS};
    (void)state;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        struct hearing hearing = {.fail_at = at[i]};
        struct event_relay *relay = make(&hearing);
        char message[64];
        int result = tell(event_relay_consumer(relay), 0, EVENTS);
        snprintf(message, sizeof(message), "no room for event %llu", (unsigned long long)at[i]);
        /* the reader hears of it unless it was at its end already */
        if (at[i] < EVENTS / 2) {
            assert_int_equal(result, -ENOMEM);
            assert_string_equal(err_message(), message);
        }
        err_set(EIO, "something else");
        assert_int_equal(event_relay_end(relay), -ENOMEM);
        assert_string_equal(err_message(), message);
        assert_int_equal(hearing.events, at[i]); /* and was called no more */
        event_relay_free(relay);
    }
}

static void test_a_reader_that_goes_on_after_a_failure(void **state)
{
    struct hearing hearing = {.fail_at = 5000};
    struct event_relay *relay = make(&hearing);
    const struct event_consumer *to = event_relay_consumer(relay);
    const struct optrail_event event = {.point = POINT_op_start};
    (void)state;
    assert_int_equal(tell(to, 0, EVENTS), -ENOMEM);
    for (unsigned i = 0; i < EVENTS; i++) {
        to->event(to->context, &event);
        to->lost(to->context, 1, 2, 3);
    }
    assert_int_equal(event_relay_end(relay), -ENOMEM);
    assert_int_equal(hearing.events, 5000);
    event_relay_free(relay);
}

static void test_the_reader_waits_for_a_slow_consumer(void **state)
{
    /* it begins only when the reader has told some batches */
    struct hearing hearing = {.hold = 3 * 2048};
    cpu_set_t set;
    (void)state;
    if (cpus(&set) < 2)
        skip();
    struct event_relay *relay = make(&hearing);
    for (uint64_t i = 0; i < EVENTS; i++) {
        assert_int_equal(tell(event_relay_consumer(relay), i, 1), 0);
        atomic_store(&hearing.told, i + 1);
    }
    assert_int_equal(event_relay_end(relay), 0);
    assert_int_equal(hearing.events, EVENTS);
    assert_true(hearing.lead >= hearing.hold);
    assert_true(hearing.lead <= 9 * 2048); /* what waits is bounded */
    event_relay_free(relay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_in_order),
        cmocka_unit_test(test_one_cpu_has_one_thread),
        cmocka_unit_test(test_no_thread_to_be_had),
        cmocka_unit_test(test_the_consumer_fails),
        cmocka_unit_test(test_a_reader_that_goes_on_after_a_failure),
        cmocka_unit_test(test_the_reader_waits_for_a_slow_consumer),
    };
    memset(long_text, 'l', sizeof(long_text) - 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
