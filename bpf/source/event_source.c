/* SPDX-License-Identifier: MIT */
#include "event_source.h"
#include "event_classes.h"

#include <babeltrace2/babeltrace.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "err.h"

/* How many events are asked for at once. */
#define BATCH 256
/* A packet is closed after so many events, so that a recorded trace can be read, and its last
 * packet lost, in pieces of bounded size. */
#define PACKET_EVENTS 4096
/* And after so long: what a recorder that is killed leaves behind is whole up to its last packet.
 */
#define PACKET_NS 1000000000ull
/* So often in turn the feed may have nothing before the open packet is closed: about a second. */
#define IDLE_TURNS 10

/*
 * One stream. The messages follow what CTF can express (and sink.ctf.fs insists on): a loss lies
 * between two packets, begins where the packet before it ended and ends where the packet behind it
 * ends:
 *
 *   packet [ events ] | lost from here ... [ packet: events that came all the same ] to here |
 * packet
 */
struct event_iterator {
    bt_self_message_iterator *self; /* weak */
    struct event_feed *feed;        /* weak */
    struct event_classes *classes;  /* weak: the component's */
    const bt_stream *stream;        /* owned */
    const bt_packet *packet;        /* owned; NULL: no packet is open */
    size_t packet_events;
    uint64_t packet_begin;
    unsigned idle_turns;
    uint64_t now;      /* time of the newest message */
    bool begun, ended; /* stream beginning and end have been sent */
    bool had_packet;   /* a packet was closed before; it ended at packet_end */
    uint64_t packet_end;
    bool in_loss; /* the open packet is the one behind a loss; it must end at loss_end */
    uint64_t loss_end;
    /* losses that could not be told yet; count 0: none */
    uint64_t lost, lost_begin, lost_end;
    struct optrail_event events[BATCH];
    size_t next, count;
    bool feed_ended;
};

/* Where messages go during one call of the next method. */
struct message_array {
    bt_message_array_const messages;
    uint64_t count, capacity;
};

/* Makes room decisions simple: one step of the iterator adds at most this many messages. */
#define STEP_MESSAGES 4

static bool push(struct message_array *out, const bt_message *message)
{
    if (!message)
        return false;
    out->messages[out->count++] = message;
    return true;
}

static bool open_packet(struct event_iterator *iterator, struct message_array *out, uint64_t time)
{
    bt_packet *packet = bt_packet_create(iterator->stream);
    if (!packet)
        return false;
    iterator->packet = packet;
    iterator->packet_events = 0;
    iterator->packet_begin = time;
    iterator->idle_turns = 0;
    iterator->now = time;
    return push(out, bt_message_packet_beginning_create_with_default_clock_snapshot(iterator->self,
                                                                                    packet, time));
}

static bool close_packet(struct event_iterator *iterator, struct message_array *out, uint64_t time)
{
    bool fine = push(out, bt_message_packet_end_create_with_default_clock_snapshot(
                              iterator->self, iterator->packet, time));
    bt_packet_put_ref(iterator->packet);
    iterator->packet = NULL;
    iterator->had_packet = true;
    iterator->packet_end = time;
    iterator->in_loss = false;
    iterator->now = time;
    return fine;
}

/* Tells the loss that waits; the packet behind it is opened with it. */
static bool tell_loss(struct event_iterator *iterator, struct message_array *out)
{
    uint64_t begin = iterator->lost_begin > iterator->now ? iterator->lost_begin : iterator->now;
    uint64_t end = iterator->lost_end > begin ? iterator->lost_end : begin;

    /* the packet before it must end where it begins: if none is open, an empty one does */
    if (!iterator->packet) {
        uint64_t from = iterator->had_packet ? iterator->packet_end : begin;
        if (!open_packet(iterator, out, from))
            return false;
    }
    if (!close_packet(iterator, out, begin))
        return false;

    bt_message *message = bt_message_discarded_events_create_with_default_clock_snapshots(
        iterator->self, iterator->stream, begin, end);
    if (!push(out, message))
        return false;
    bt_message_discarded_events_set_count(message, iterator->lost);
    if (!open_packet(iterator, out, begin))
        return false;
    iterator->in_loss = true;
    iterator->loss_end = end;
    iterator->lost = 0;
    return true;
}

static void ask_for_losses(struct event_iterator *iterator)
{
    uint64_t begin = 0, end = 0, lost;

    if (!iterator->feed->lost)
        return;
    lost = iterator->feed->lost(iterator->feed->context, &begin, &end);
    if (lost == 0)
        return;
    if (iterator->lost == 0 || begin < iterator->lost_begin)
        iterator->lost_begin = begin;
    if (iterator->lost == 0 || end > iterator->lost_end)
        iterator->lost_end = end;
    iterator->lost += lost;
}

static bool send_event(struct event_iterator *iterator, struct message_array *out)
{
    const struct optrail_event *event = &iterator->events[iterator->next++];
    const bt_event_class *class = event_classes_get(iterator->classes, event->point);
    bt_message *message;

    message = bt_message_event_create_with_packet_and_default_clock_snapshot(
        iterator->self, class, iterator->packet, iterator->now);
    if (!push(out, message))
        return false;
    iterator->packet_events++;
    return event_classes_fill(bt_message_event_borrow_event(message), event);
}

/* What is done next for the event at hand. */
static bool step_event(struct event_iterator *iterator, struct message_array *out)
{
    const struct optrail_event *event = &iterator->events[iterator->next];
    /* the feed promises order; a feed that breaks it must not break the stream */
    uint64_t time = event->time_ns > iterator->now ? event->time_ns : iterator->now;

    if (iterator->packet && iterator->in_loss && time >= iterator->loss_end)
        return close_packet(iterator, out, iterator->loss_end);
    if (iterator->lost > 0 && !iterator->in_loss && time >= iterator->lost_begin)
        return tell_loss(iterator, out);
    if (iterator->packet && !iterator->in_loss &&
        (iterator->packet_events >= PACKET_EVENTS || time - iterator->packet_begin >= PACKET_NS))
        return close_packet(iterator, out, iterator->now);
    if (!iterator->packet && !open_packet(iterator, out, time))
        return false;
    iterator->now = time;
    return send_event(iterator, out);
}

static bool step_end(struct event_iterator *iterator, struct message_array *out)
{
    if (iterator->packet) {
        uint64_t end = iterator->in_loss && iterator->loss_end > iterator->now ? iterator->loss_end
                                                                               : iterator->now;
        return close_packet(iterator, out, end);
    }
    if (iterator->lost > 0)
        return tell_loss(iterator, out);
    iterator->ended = true;
    return push(out, bt_message_stream_end_create(iterator->self, iterator->stream));
}

/* Gets events. 1: there are some or the feed has ended; 0: none now; negative: failed. */
static int refill(struct event_iterator *iterator)
{
    int got = iterator->feed->next(iterator->feed->context, iterator->events, BATCH);

    ask_for_losses(iterator);
    if (got == -EAGAIN)
        return 0;
    if (got < 0)
        return got;
    iterator->idle_turns = 0;
    iterator->next = 0;
    iterator->count = (size_t)got;
    iterator->feed_ended = got == 0;
    for (size_t i = 0; i < iterator->count; i++)
        if (iterator->events[i].point >= POINT_COUNT)
            return err_set(EINVAL, "event source: point %u is not in the catalogue",
                           iterator->events[i].point);
    return 1;
}

static bt_message_iterator_class_next_method_status iterator_next(bt_self_message_iterator *self,
                                                                  bt_message_array_const messages,
                                                                  uint64_t capacity,
                                                                  uint64_t *count)
{
    struct event_iterator *iterator = bt_self_message_iterator_get_data(self);
    struct message_array out = {.messages = messages, .capacity = capacity};
    bool fine = true;

    if (iterator->ended)
        return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END;
    if (!iterator->begun) {
        iterator->begun = true;
        fine = push(&out, bt_message_stream_beginning_create(self, iterator->stream));
    }
    while (fine && !iterator->ended && out.count + STEP_MESSAGES <= capacity) {
        if (iterator->next < iterator->count) {
            fine = step_event(iterator, &out);
            continue;
        }
        if (iterator->feed_ended) {
            fine = step_end(iterator, &out);
            continue;
        }
        if (out.count > 0)
            break; /* hand over what there is before waiting for more */
        int got = refill(iterator);
        if (got == 0 && iterator->packet && !iterator->in_loss &&
            ++iterator->idle_turns >= IDLE_TURNS) {
            fine = close_packet(iterator, &out, iterator->now);
            continue;
        }
        if (got == 0)
            return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_AGAIN;
        if (got < 0) {
            BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(self, "%s", err_message());
            return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_ERROR;
        }
    }
    if (!fine) {
        while (out.count > 0)
            bt_message_put_ref(messages[--out.count]);
        return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
    }
    *count = out.count;
    return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
}

static bt_message_iterator_class_initialize_method_status
iterator_initialize(bt_self_message_iterator *self,
                    bt_self_message_iterator_configuration *configuration,
                    bt_self_component_port_output *port)
{
    struct event_classes *classes =
        bt_self_component_get_data(bt_self_message_iterator_borrow_component(self));
    struct event_iterator *iterator = calloc(1, sizeof(*iterator));

    (void)configuration;
    (void)port;
    if (!iterator)
        return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
    iterator->self = self;
    iterator->classes = classes;
    iterator->feed = classes->feed;
    iterator->stream = classes->stream;
    bt_stream_get_ref(iterator->stream);
    bt_self_message_iterator_set_data(self, iterator);
    return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static void iterator_finalize(bt_self_message_iterator *self)
{
    struct event_iterator *iterator = bt_self_message_iterator_get_data(self);

    if (!iterator)
        return;
    bt_packet_put_ref(iterator->packet);
    bt_stream_put_ref(iterator->stream);
    free(iterator);
}

static bt_component_class_initialize_method_status
source_initialize(bt_self_component_source *self_source,
                  bt_self_component_source_configuration *configuration, const bt_value *params,
                  void *data)
{
    bt_self_component *self = bt_self_component_source_as_self_component(self_source);
    struct event_classes *classes;

    (void)configuration;
    (void)params;
    if (!data) {
        BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(
            self, "source.optrail.events needs a feed: it is not for use from a command line");
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    classes = event_classes_new(self, data);
    if (!classes)
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
    if (bt_self_component_source_add_output_port(self_source, "out", NULL, NULL) !=
        BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
        event_classes_free(classes);
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
    bt_self_component_set_data(self, classes);
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static void source_finalize(bt_self_component_source *self_source)
{
    event_classes_free(
        bt_self_component_get_data(bt_self_component_source_as_self_component(self_source)));
}

const struct bt_component_class_source *event_source_class_create(void)
{
    bt_message_iterator_class *iterator_class = bt_message_iterator_class_create(iterator_next);
    bt_component_class_source *class = NULL;

    if (iterator_class) {
        bt_message_iterator_class_set_initialize_method(iterator_class, iterator_initialize);
        bt_message_iterator_class_set_finalize_method(iterator_class, iterator_finalize);
        class = bt_component_class_source_create("events", iterator_class);
        bt_message_iterator_class_put_ref(iterator_class);
    }
    if (!class) {
        bt_current_thread_clear_error();
        err_no_memory();
        return NULL;
    }
    bt_component_class_source_set_initialize_method(class, source_initialize);
    bt_component_class_source_set_finalize_method(class, source_finalize);
    return class;
}
