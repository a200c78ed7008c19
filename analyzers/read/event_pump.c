/* SPDX-License-Identifier: MIT */
#include "event_pump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bt_error.h"
#include "ceph_requests.h"
#include "err.h"
#include "event_decoder.h"
#include "frame_names.h"
#include "message_time.h"
#include "points.h"
#include "trace_facts.h"

/* About how many messages one call of event_pump_consume delivers at most: between calls
 * babeltrace2 looks whether it was interrupted. */
#define CONSUME_EVENTS 4096
#define JUMP_NS        (86400 * 1000000000ull) /* of a clock */

/* One input port. */
struct input {
    char *name;
    bt_message_iterator *iterator;   /* owned; NULL: ended */
    bt_message_array_const messages; /* weak: the iterator's; their references are ours */
    uint64_t next, count;
    uint64_t time; /* ns, of the message at `next`: valid while it waits in the heap */
    uint64_t last; /* ns, of the last event delivered from it; 0: none */
    bool known_damaged;
    char trouble[256]; /* babeltrace2's error that came with a batch of messages; "": none */
    size_t number;     /* in the order of adding: decides between equal times */
    struct decoder_packet packet;
};

struct event_pump {
    const struct event_consumer *consumer; /* weak */
    const volatile int *stop;              /* weak */
    struct event_decoder *decoder;
    struct ceph_requests *ceph; /* made for the first of Ceph's own events */
    struct frame_names *frames; /* made for the first module.define */
    size_t input_count;
    struct input **inputs;
    /* Inputs whose next message is there, as a binary heap, the earliest first. */
    size_t heap_count;
    struct input **heap;
    /* Inputs whose next message must be asked for before anything is delivered. */
    size_t hungry_count;
    struct input **hungry;
    const bt_clock_class *clock; /* the first input's; owned */
    uint64_t newest;             /* time of the newest event delivered */
    struct read_counts counts;
    int result;
    char damage[512];
};

int event_pump_new(const struct event_consumer *consumer, const volatile int *stop,
                   struct event_pump **pump)
{
    struct event_pump *made = calloc(1, sizeof(*made));

    if (!made)
        return err_no_memory();
    made->consumer = consumer;
    made->stop = stop;
    made->counts.tracer = "";
    made->decoder = event_decoder_new();
    if (!made->decoder) {
        free(made);
        return -ENOMEM;
    }
    *pump = made;
    return 0;
}

/* Gives back what is left of the batch at hand, and the iterator. */
static void close_input(struct input *input)
{
    while (input->next < input->count)
        bt_message_put_ref(input->messages[input->next++]);
    bt_message_iterator_put_ref(input->iterator);
    input->iterator = NULL;
}

void event_pump_free(struct event_pump *pump)
{
    if (!pump)
        return;
    for (size_t i = 0; i < pump->input_count; i++) {
        close_input(pump->inputs[i]);
        free(pump->inputs[i]->name);
        free(pump->inputs[i]);
    }
    free(pump->inputs);
    free(pump->heap);
    free(pump->hungry);
    event_decoder_free(pump->decoder);
    ceph_requests_free(pump->ceph);
    frame_names_free(pump->frames);
    bt_clock_class_put_ref(pump->clock);
    free(pump);
}

static bool make_room(struct input ***inputs, size_t count)
{
    struct input **bigger = reallocarray(*inputs, count, sizeof(**inputs));

    if (bigger)
        *inputs = bigger;
    return bigger != NULL;
}

int event_pump_add_input(struct event_pump *pump, bt_self_component_sink *self,
                         bt_self_component_port_input *port, const char *name, bool known_damaged)
{
    size_t count = pump->input_count + 1;
    struct input *input = calloc(1, sizeof(*input));

    if (!input || !(input->name = strdup(name)) || !make_room(&pump->inputs, count) ||
        !make_room(&pump->heap, count) || !make_room(&pump->hungry, count)) {
        if (input)
            free(input->name);
        free(input);
        return err_no_memory();
    }
    input->number = pump->input_count;
    input->known_damaged = known_damaged;
    pump->inputs[pump->input_count++] = input;
    if (bt_message_iterator_create_from_sink_component(self, port, &input->iterator) !=
        BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK) {
        char text[400], why[256];
        input->iterator = NULL;
        bt_error_take(why, sizeof(why));
        snprintf(text, sizeof(text), "%s: cannot be read: %s", name, why);
        event_pump_damage(pump, text);
        return 0;
    }
    pump->hungry[pump->hungry_count++] = input;
    return 0;
}

void event_pump_damage(struct event_pump *pump, const char *text)
{
    if (pump->counts.damaged++ == 0)
        snprintf(pump->damage, sizeof(pump->damage), "%s", text);
}

int event_pump_result(const struct event_pump *pump)
{
    if (pump->result < 0 || pump->counts.damaged == 0)
        return pump->result;
    if (pump->counts.damaged == 1)
        return err_set(EIO, "%s", pump->damage);
    return err_set(EIO, "%s (and %zu more that could not be read whole)", pump->damage,
                   pump->counts.damaged - 1);
}

const struct read_counts *event_pump_counts(const struct event_pump *pump)
{
    return &pump->counts;
}

/* The input breaks off here; what it gave so far stays. */
static void break_off(struct event_pump *pump, struct input *input, const char *why)
{
    char text[sizeof(pump->damage)];

    if (input->last > 0)
        snprintf(text, sizeof(text), "%s: breaks off behind %" PRIu64 ".%09" PRIu64 " s: %s",
                 input->name, input->last / 1000000000, input->last % 1000000000, why);
    else
        snprintf(text, sizeof(text), "%s: breaks off before its first event: %s", input->name, why);
    if (!input->known_damaged)
        event_pump_damage(pump, text);
    close_input(input);
}

const char *event_pump_call(struct read_watch *watch)
{
    if (!watch)
        return NULL;
    watch->beats++;
    watch->call++;
    for (size_t i = 0; i < watch->fatal_count; i++)
        if (watch->fatal[i].call == watch->call)
            return watch->fatal[i].why;
    return NULL;
}

static bool earlier(const struct input *one, const struct input *other)
{
    return one->time < other->time || (one->time == other->time && one->number < other->number);
}

static void heap_push(struct event_pump *pump, struct input *input)
{
    size_t at = pump->heap_count++;

    while (at > 0 && earlier(input, pump->heap[(at - 1) / 2])) {
        pump->heap[at] = pump->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    pump->heap[at] = input;
}

static struct input *heap_pop(struct event_pump *pump)
{
    struct input *top = pump->heap[0];
    struct input *last = pump->heap[--pump->heap_count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < pump->heap_count) {
        if (child + 1 < pump->heap_count && earlier(pump->heap[child + 1], pump->heap[child]))
            child++;
        if (!earlier(pump->heap[child], last))
            break;
        pump->heap[at] = pump->heap[child];
        at = child;
    }
    pump->heap[at] = last;
    return top;
}

static const char *tracer_of(const bt_trace *trace)
{
    const bt_value *value =
        bt_trace_borrow_environment_entry_value_by_name_const(trace, "tracer_name");
    const char *name =
        value && bt_value_get_type(value) == BT_VALUE_TYPE_STRING ? bt_value_string_get(value) : "";

    if (strncmp(name, "lttng", 5) == 0)
        return "lttng";
    return strcmp(name, "optrail") == 0 ? "bpf" : "ctf";
}

/* False: the stream cannot be read together with the others; the input is closed. */
static bool begin_stream(struct event_pump *pump, struct input *input, const bt_stream *stream)
{
    const bt_clock_class *clock =
        bt_stream_class_borrow_default_clock_class_const(bt_stream_borrow_class_const(stream));
    const char *tracer = tracer_of(bt_stream_borrow_trace_const(stream));

    if (!clock) {
        break_off(pump, input, "its events have no times: it cannot be used");
        return false;
    }
    if (!pump->clock) {
        pump->clock = clock;
        bt_clock_class_get_ref(clock);
    } else if (!message_clocks_agree(pump->clock, clock)) {
        break_off(pump, input,
                  "its clock has nothing in common with that of the trace before (another host, or "
                  "another boot of this one): report on it by itself");
        return false;
    }
    trace_facts_read(bt_stream_borrow_trace_const(stream), &pump->counts.told);
    if (!pump->counts.tracer[0])
        pump->counts.tracer = tracer;
    else if (strcmp(pump->counts.tracer, tracer) != 0)
        pump->counts.tracer = "mixed";
    return true;
}

static void deliver_lost(struct event_pump *pump, uint64_t count, uint64_t begin, uint64_t end)
{
    if (pump->consumer->lost)
        pump->result = pump->consumer->lost(pump->consumer->context, count, begin, end);
}

static void discarded_events(struct event_pump *pump, const bt_message *message)
{
    uint64_t count = 0, begin = pump->newest, end = pump->newest;

    if (bt_message_discarded_events_get_count(message, &count) !=
        BT_PROPERTY_AVAILABILITY_AVAILABLE)
        count = 0;
    if (message_time(message, &begin))
        end = message_snapshot_ns(
            bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message));
    pump->counts.lost += count;
    deliver_lost(pump, count, begin, end);
}

static void discarded_packets(struct event_pump *pump, const bt_message *message)
{
    uint64_t count = 0, begin = pump->newest, end = pump->newest;

    if (bt_message_discarded_packets_get_count(message, &count) !=
        BT_PROPERTY_AVAILABILITY_AVAILABLE)
        count = 1;
    if (message_time(message, &begin))
        end = message_snapshot_ns(
            bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message));
    pump->counts.lost_packets += count;
    deliver_lost(pump, 0, begin, end);
}

static void note_process(struct read_counts *counts, uint32_t pid)
{
    if (pid == counts->pid || counts->several_pids)
        return;
    counts->several_pids = counts->pid != 0;
    counts->pid = counts->several_pids ? 0 : pid;
}

/* Nothing at all for so long, and then more: no recording is like that, a damaged clock is. What
 * was recorded on different days has different inputs. */
static void note_jump(struct event_pump *pump, const struct input *input, uint64_t now)
{
    if (input->last == 0 || now < pump->newest + JUMP_NS)
        return;
    if (pump->counts.jumps++ == 0)
        pump->counts.jump_after_ns = pump->newest;
    pump->counts.jumped_ns += now - pump->newest;
}

static void deliver_made(struct event_pump *pump, struct input *input,
                         const struct optrail_event *event)
{
    note_jump(pump, input, event->time_ns);
    input->last = event->time_ns;
    /* a name may be that of a thread of another process, which woke one of the recorded ones */
    if (event->point != POINT_thread_named)
        note_process(&pump->counts, event->pid);
    if (pump->counts.events++ == 0)
        pump->counts.begin_ns = event->time_ns;
    if (event->time_ns >= pump->newest)
        pump->newest = event->time_ns;
    else if (pump->counts.late++ == 0)
        pump->counts.late_after_ns = pump->newest;
    pump->counts.end_ns = pump->newest;
    if (pump->consumer->event)
        pump->result = pump->consumer->event(pump->consumer->context, event);
}

/* Names for the frames of a call stack. */
static void name_frames(struct event_pump *pump, struct optrail_event *event)
{
    if (!pump->frames && event->point == POINT_module_define)
        pump->result = (pump->frames = frame_names_new(&pump->counts.frames)) ? 0 : -ENOMEM;
    if (pump->frames)
        pump->result = frame_names_event(pump->frames, event);
}

static void deliver_ceph(struct event_pump *pump, struct input *input)
{
    struct optrail_event made[CEPH_EVENTS_MAX];

    if (!pump->ceph && !(pump->ceph = ceph_requests_new(&pump->counts.ceph))) {
        pump->result = -ENOMEM;
        return;
    }
    int count = ceph_requests_event(pump->ceph, event_decoder_ceph(pump->decoder), made);
    for (int i = 0; i < count && pump->result >= 0; i++)
        deliver_made(pump, input, &made[i]);
}

static void deliver_event(struct event_pump *pump, struct input *input, const bt_message *message)
{
    struct optrail_event event;

    event.time_ns = input->time;
    switch (event_decoder_decode(pump->decoder, message, &input->packet, &event)) {
    case DECODED_EVENT:
        if (pump->ceph)
            ceph_requests_beside(pump->ceph, &event);
        if (point_rows[event.point].role == ROLE_TEXT)
            name_frames(pump, &event);
        if (pump->result >= 0)
            deliver_made(pump, input, &event);
        return;
    case DECODED_CEPH:
        deliver_ceph(pump, input);
        return;
    case DECODED_FOREIGN:
        pump->counts.foreign++;
        return;
    case DECODED_UNKNOWN:
        pump->counts.unknown++;
        return;
    case DECODED_MALFORMED:
        pump->counts.malformed++;
        return;
    case DECODED_NO_MEMORY:
        pump->result = err_no_memory();
        return;
    }
}

/* Handles one message and gives back its reference. False: the input was closed over it. */
static bool handle(struct event_pump *pump, struct input *input, const bt_message *message)
{
    bool open = true;

    switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
        deliver_event(pump, input, message);
        break;
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
        input->packet = (struct decoder_packet){0};
        break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        discarded_events(pump, message);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        discarded_packets(pump, message);
        break;
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        open = begin_stream(pump, input, bt_message_stream_beginning_borrow_stream_const(message));
        break;
    default:
        break;
    }
    bt_message_put_ref(message);
    return open;
}

enum feeding { FED, EMPTY, LATER, FAILED };

/* Takes the error of the input's iterator, which must not meet the next call of another's. The
 * first one tells most. */
static void take_error(struct input *input)
{
    char why[sizeof(input->trouble)];

    bt_error_take(why, sizeof(why));
    if (!input->trouble[0])
        snprintf(input->trouble, sizeof(input->trouble), "%s", why);
}

/* The iterator gives no more. An END may have an error with it as well, and so may the messages
 * before it: source.ctf.fs of babeltrace2 2.0.4 ends so when a file ends within an event. */
static enum feeding end_input(struct event_pump *pump, struct input *input,
                              bt_message_iterator_next_status status)
{
    const char *why = input->trouble;
    char text[300];

    if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR) {
        pump->result = err_no_memory();
        return FAILED;
    }
    if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END && !why[0]) {
        close_input(input);
        return EMPTY;
    }
    snprintf(text, sizeof(text), "what follows is damaged (babeltrace2: %s)", why);
    break_off(pump, input, text);
    return EMPTY;
}

/* Gets the input's next message that has a time; those before it are handled at once. */
static enum feeding feed(struct event_pump *pump, struct input *input)
{
    const char *fatal;
    char text[128];

    for (;;) {
        while (input->next < input->count) {
            const bt_message *message = input->messages[input->next];
            if (message_time(message, &input->time))
                return FED;
            input->next++;
            if (!handle(pump, input, message))
                return EMPTY;
            if (pump->result < 0)
                return FAILED;
        }
        input->next = input->count = 0;
        if (fatal = event_pump_call(pump->consumer->watch), fatal) {
            snprintf(text, sizeof(text), "what follows is damaged (%s)", fatal);
            break_off(pump, input, text);
            return EMPTY;
        }
        bt_message_iterator_next_status status =
            bt_message_iterator_next(input->iterator, &input->messages, &input->count);
        take_error(input);
        if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
            continue;
        input->count = 0;
        if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
            return LATER;
        return end_input(pump, input, status);
    }
}

/* Gets a next message from every input that has none at hand: without it, nobody knows which comes
 * first. */
static enum feeding feed_hungry(struct event_pump *pump)
{
    for (size_t i = 0; i < pump->hungry_count; i++) {
        struct input *input = pump->hungry[i];
        enum feeding fed = feed(pump, input);
        if (fed == LATER || fed == FAILED) {
            pump->hungry_count -= i;
            memmove(pump->hungry, pump->hungry + i, pump->hungry_count * sizeof(*pump->hungry));
            return fed;
        }
        if (fed == FED)
            heap_push(pump, input);
    }
    pump->hungry_count = 0;
    return FED;
}

bt_component_class_sink_consume_method_status event_pump_consume(struct event_pump *pump)
{
    size_t handled = 0;

    do {
        if (pump->stop && *pump->stop)
            return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
        switch (feed_hungry(pump)) {
        case LATER:
            return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_AGAIN;
        case FAILED:
            return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
        default:
            break;
        }
        if (pump->heap_count == 0)
            return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
        struct input *input = heap_pop(pump);
        const struct input *other = pump->heap_count > 0 ? pump->heap[0] : NULL;
        enum feeding fed;
        /* as long as this input has the earliest message, the heap need not be asked */
        do {
            handle(pump, input, input->messages[input->next++]);
            handled++;
            if (pump->result < 0)
                return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
            fed = input->next < input->count &&
                          message_time(input->messages[input->next], &input->time)
                      ? FED
                      : LATER;
        } while (fed == FED && (!other || earlier(input, other)));
        if (fed == FED)
            heap_push(pump, input);
        else
            pump->hungry[pump->hungry_count++] = input;
    } while (handled < CONSUME_EVENTS);
    return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}
