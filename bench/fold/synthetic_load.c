/* SPDX-License-Identifier: MIT */
#include "synthetic_load.h"

#include <stdlib.h>

#define DEPTH 16

/* Which of the daemon's threads emits a step. */
enum thread { MESSENGER, WORKER, JOURNAL, APPLY, FINISHER, SENDER };

/* What a step's key is. */
enum key { KEY_IS_OP, KEY_IS_SEQUENCE, KEY_IS_NONE };

/* A write's life. The time before each step varies by up to as much again. */
static const struct step {
    uint16_t point;
    uint8_t thread, key;
    uint32_t ns;
} steps[] = {
    {POINT_op_start, MESSENGER, KEY_IS_OP, 2000},
    {POINT_op_identify, MESSENGER, KEY_IS_OP, 300},
    {POINT_messenger_throttle_begin, MESSENGER, KEY_IS_OP, 300},
    {POINT_messenger_throttle_end, MESSENGER, KEY_IS_OP, 300},
    {POINT_messenger_recv_end, MESSENGER, KEY_IS_OP, 4000},
    {POINT_messenger_dispatch, MESSENGER, KEY_IS_OP, 300},
    {POINT_opqueue_enqueue, MESSENGER, KEY_IS_OP, 300},
    {POINT_opqueue_dequeue, WORKER, KEY_IS_OP, 40000},
    {POINT_pg_lock_request, WORKER, KEY_IS_OP, 300},
    {POINT_pg_lock_acquired, WORKER, KEY_IS_OP, 5000},
    {POINT_osd_prepared, WORKER, KEY_IS_OP, 9000},
    {POINT_filestore_submit, WORKER, KEY_IS_OP, 300},
    {POINT_filestore_throttle_begin, WORKER, KEY_IS_OP, 300},
    {POINT_filestore_throttle_end, WORKER, KEY_IS_OP, 300},
    {POINT_filestore_sequence, WORKER, KEY_IS_OP, 300},
    {POINT_journal_submit, WORKER, KEY_IS_SEQUENCE, 300},
    {POINT_pg_lock_released, WORKER, KEY_IS_OP, 300},
    {POINT_osd_leave, WORKER, KEY_IS_OP, 300},
    {POINT_journal_write_begin, JOURNAL, KEY_IS_SEQUENCE, 30000},
    {POINT_journal_write_end, JOURNAL, KEY_IS_SEQUENCE, 200000},
    {POINT_apply_enqueue, JOURNAL, KEY_IS_SEQUENCE, 300},
    {POINT_apply_dequeue, APPLY, KEY_IS_SEQUENCE, 20000},
    {POINT_wbthrottle_wait_begin, APPLY, KEY_IS_NONE, 300},
    {POINT_wbthrottle_wait_end, APPLY, KEY_IS_NONE, 300},
    {POINT_filestore_lfn_open_begin, APPLY, KEY_IS_NONE, 300},
    {POINT_filestore_index_request, APPLY, KEY_IS_NONE, 300},
    {POINT_filestore_index_acquired, APPLY, KEY_IS_NONE, 50000},
    {POINT_filestore_index_released, APPLY, KEY_IS_NONE, 9000},
    {POINT_filestore_lfn_open_end, APPLY, KEY_IS_NONE, 300},
    {POINT_filestore_write_begin, APPLY, KEY_IS_NONE, 300},
    {POINT_filestore_write_end, APPLY, KEY_IS_NONE, 30000},
    {POINT_apply_end, APPLY, KEY_IS_SEQUENCE, 300},
    {POINT_commit_queue, APPLY, KEY_IS_OP, 300},
    {POINT_commit_callback, FINISHER, KEY_IS_OP, 9000},
    {POINT_reply_enqueue, FINISHER, KEY_IS_OP, 300},
    {POINT_reply_send_begin, SENDER, KEY_IS_OP, 5000},
    {POINT_op_finish, SENDER, KEY_IS_OP, 9000},
    {POINT_op_end, SENDER, KEY_IS_OP, 300},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

/* An op under way: the step that comes next, and when. */
struct flight {
    uint64_t time_ns, key, sequence;
    size_t step;
};

struct synthetic_load {
    struct event_feed feed;
    struct flight flights[DEPTH];
    uint64_t random, sequence, ops_left;
    size_t running;
};

/* A number below `limit`: a linear congruential generator (Knuth's MMIX). */
static uint64_t below(struct synthetic_load *load, uint64_t limit)
{
    load->random = load->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (load->random >> 33) % limit;
}

static void begin_step(struct synthetic_load *load, struct flight *flight, size_t step)
{
    flight->step = step;
    flight->time_ns += steps[step].ns + below(load, steps[step].ns);
}

static void fill(struct synthetic_load *load, const struct flight *flight,
                 struct optrail_event *event)
{
    const struct step *step = &steps[flight->step];
    size_t slot = (size_t)(flight - load->flights);

    *event = (struct optrail_event){
        .time_ns = flight->time_ns,
        .key = step->key == KEY_IS_OP         ? flight->key
               : step->key == KEY_IS_SEQUENCE ? flight->sequence
                                              : 0,
        .pid = 1000,
        .tid = (uint32_t)(1001 + step->thread * DEPTH + slot),
        .point = step->point,
    };
    if (step->point == POINT_op_start) {
        event->arg0 = 2;
        event->arg1 = 4123;
    } else if (step->point == POINT_op_identify) {
        event->arg0 = 4123;
        event->arg1 = flight->sequence;
    } else if (step->point == POINT_filestore_sequence) {
        event->arg0 = flight->sequence;
        event->arg1 = KEY_SEQUENCE;
    } else if (step->point == POINT_op_finish) {
        event->arg0 = 4096;
    }
}

/* The op has ended: the next one takes its place and its address, or nobody does. */
static void end_op(struct synthetic_load *load, struct flight *flight)
{
    if (load->ops_left == 0) {
        flight->time_ns = UINT64_MAX;
        load->running--;
        return;
    }
    load->ops_left--;
    flight->sequence = ++load->sequence;
    begin_step(load, flight, 0);
}

static int next(void *context, struct optrail_event *events, size_t capacity)
{
    struct synthetic_load *load = context;
    size_t count = 0;

    while (count < capacity && load->running > 0) {
        struct flight *first = &load->flights[0];
        for (size_t i = 1; i < DEPTH; i++)
            if (load->flights[i].time_ns < first->time_ns)
                first = &load->flights[i];
        fill(load, first, &events[count++]);
        if (first->step + 1 < STEPS)
            begin_step(load, first, first->step + 1);
        else
            end_op(load, first);
    }
    return (int)count;
}

struct synthetic_load *synthetic_load_new(uint64_t events)
{
    struct synthetic_load *load = calloc(1, sizeof(*load));

    if (!load)
        return NULL;
    load->feed = (struct event_feed){.context = load, .next = next};
    load->ops_left = events / STEPS;
    load->running = DEPTH;
    for (size_t i = 0; i < DEPTH; i++) {
        load->flights[i].time_ns = 1000000000;
        load->flights[i].key = 0x7f0000001000 + i * 0x340;
        end_op(load, &load->flights[i]);
    }
    return load;
}

void synthetic_load_free(struct synthetic_load *load)
{
    free(load);
}

struct event_feed *synthetic_load_feed(struct synthetic_load *load)
{
    return &load->feed;
}
