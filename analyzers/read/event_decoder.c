/* SPDX-License-Identifier: MIT */
#include "event_decoder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "points.h"

#define PREFIX "optrail:"

/* Where the cpu of an event stands. */
enum cpu_source { CPU_NOWHERE, CPU_PACKET_CONTEXT, CPU_COMMON_CONTEXT };

/* The payload's fields that make an event. */
enum field { FIELD_PID, FIELD_TID, FIELD_KEY, FIELD_ARG0, FIELD_ARG1, FIELD_COUNT };

/* What is known of an event class. */
struct event_kind {
    const bt_event_class *class; /* owned: its address must stay its own; NULL: a free place */
    const bt_clock_class *clock; /* weak: lives as long as the class */
    struct ceph_class *ceph;     /* owned; NULL: none of Ceph's own */
    enum decoded what;
    enum cpu_source cpu_source;
    uint64_t cpu_index; /* of cpu_id in the common context */
    uint16_t point;
    bool stamped;                /* arg0 is a reading of the trace's clock */
    bool has_text;               /* arg0 is a string */
    uint8_t fields[FIELD_COUNT]; /* their places in the payload */
};

struct event_decoder {
    struct event_kind *kinds; /* open addressing by the class's address */
    unsigned bits;            /* there are 2^bits places */
    size_t used;
    struct ceph_event ceph;        /* the last one of Ceph's own */
    char text[EVENT_TEXT_MAX + 1]; /* the last one that was too long */
};

static size_t place_of(const struct event_decoder *decoder, const bt_event_class *class)
{
    /* multiplicative hashing (Knuth): the product's upper bits */
    return (uint64_t)(uintptr_t) class * UINT64_C(0x9e3779b97f4a7c15) >> (64 - decoder->bits);
}

static struct event_kind *find(const struct event_decoder *decoder, const bt_event_class *class)
{
    size_t mask = ((size_t)1 << decoder->bits) - 1;
    size_t place = place_of(decoder, class);

    while (decoder->kinds[place].class && decoder->kinds[place].class != class)
        place = (place + 1) & mask;
    return &decoder->kinds[place];
}

struct event_decoder *event_decoder_new(void)
{
    struct event_decoder *decoder = calloc(1, sizeof(*decoder));

    if (decoder) {
        decoder->bits = 8;
        decoder->kinds = calloc((size_t)1 << decoder->bits, sizeof(*decoder->kinds));
    }
    if (!decoder || !decoder->kinds) {
        free(decoder);
        err_no_memory();
        return NULL;
    }
    return decoder;
}

void event_decoder_free(struct event_decoder *decoder)
{
    if (!decoder)
        return;
    for (size_t i = 0; i < (size_t)1 << decoder->bits; i++) {
        bt_event_class_put_ref(decoder->kinds[i].class);
        ceph_class_free(decoder->kinds[i].ceph);
    }
    free(decoder->kinds);
    free(decoder);
}

static bool grow(struct event_decoder *decoder)
{
    struct event_decoder bigger = {.bits = decoder->bits + 1, .used = decoder->used};

    bigger.kinds = calloc((size_t)1 << bigger.bits, sizeof(*bigger.kinds));
    if (!bigger.kinds)
        return false;
    for (size_t i = 0; i < (size_t)1 << decoder->bits; i++)
        if (decoder->kinds[i].class)
            *find(&bigger, decoder->kinds[i].class) = decoder->kinds[i];
    free(decoder->kinds);
    *decoder = bigger;
    return true;
}

/* The place of a member of this type; false if there is none of that name. */
static bool find_member(const bt_field_class *structure, const char *name, bt_field_class_type type,
                        uint64_t *index)
{
    uint64_t count;

    if (!structure || bt_field_class_get_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
        return false;
    count = bt_field_class_structure_get_member_count(structure);
    for (*index = 0; *index < count; (*index)++) {
        const bt_field_class_structure_member *member =
            bt_field_class_structure_borrow_member_by_index_const(structure, *index);
        if (strcmp(bt_field_class_structure_member_get_name(member), name) == 0)
            return bt_field_class_get_type(
                       bt_field_class_structure_member_borrow_field_class_const(member)) == type;
    }
    return false;
}

static void learn_cpu(struct event_kind *kind, const bt_stream_class *stream_class)
{
    uint64_t index = 0; /* of no use without a source */

    if (bt_stream_class_supports_packets(stream_class) &&
        find_member(bt_stream_class_borrow_packet_context_field_class_const(stream_class), "cpu_id",
                    BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER, &index))
        kind->cpu_source = CPU_PACKET_CONTEXT;
    else if (find_member(
                 bt_stream_class_borrow_event_common_context_field_class_const(stream_class),
                 "cpu_id", BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER, &index))
        kind->cpu_source = CPU_COMMON_CONTEXT;
    kind->cpu_index = index;
}

/* Of a trace that LTTng made for one process; 0: it does not say. */
static uint32_t env_pid_of(const bt_event *event)
{
    const bt_value *value = bt_trace_borrow_environment_entry_value_by_name_const(
        bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event)), "vpid");

    return value && bt_value_get_type(value) == BT_VALUE_TYPE_SIGNED_INTEGER
               ? (uint32_t)bt_value_integer_signed_get(value)
               : 0;
}

/* False: memory is short. */
static bool learn_ceph(struct event_kind *kind, const bt_event_class *class, const bt_event *event)
{
    const bt_stream_class *stream_class = bt_event_class_borrow_stream_class_const(class);
    bool malformed;

    kind->clock = bt_stream_class_borrow_default_clock_class_const(stream_class);
    kind->ceph = ceph_class_learn(class, env_pid_of(event), &malformed);
    kind->what = kind->ceph && kind->clock ? DECODED_CEPH : DECODED_MALFORMED;
    learn_cpu(kind, stream_class);
    return kind->ceph || malformed;
}

/* False: memory is short. */
static bool learn(struct event_kind *kind, const bt_event_class *class, const bt_event *event)
{
    const bt_stream_class *stream_class = bt_event_class_borrow_stream_class_const(class);
    const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(class);
    const char *name = bt_event_class_get_name(class);
    int point;

    memset(kind, 0, sizeof(*kind));
    kind->class = class;
    bt_event_class_get_ref(class);
    kind->what = DECODED_FOREIGN;
    if (name && ceph_tracepoint_is(name))
        return learn_ceph(kind, class, event);
    if (!name || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return true;
    kind->what = DECODED_UNKNOWN;
    point = point_by_identifier(name + strlen(PREFIX));
    if (point < 0)
        return true;
    kind->point = (uint16_t)point;
    kind->stamped = point_rows[point].role == ROLE_STAMP;
    kind->has_text = point_rows[point].role == ROLE_TEXT;
    kind->what = DECODED_MALFORMED;
    kind->clock = bt_stream_class_borrow_default_clock_class_const(stream_class);
    if (!kind->clock)
        return true;
    const char *const names[FIELD_COUNT] = {"pid", "tid", "key", point_rows[point].arg0,
                                            point_rows[point].arg1};
    for (int i = 0; i < FIELD_COUNT; i++) {
        bt_field_class_type type = i == FIELD_ARG0 && kind->has_text
                                       ? BT_FIELD_CLASS_TYPE_STRING
                                       : BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER;
        uint64_t index;
        if (!find_member(payload, names[i], type, &index) || index > UINT8_MAX)
            return true;
        kind->fields[i] = (uint8_t)index;
    }
    learn_cpu(kind, stream_class);
    kind->what = DECODED_EVENT;
    return true;
}

static uint16_t packet_cpu(const bt_packet *packet)
{
    const bt_field *context = bt_packet_borrow_context_field_const(packet);
    const bt_field *cpu =
        context ? bt_field_structure_borrow_member_field_by_name_const(context, "cpu_id") : NULL;

    return cpu ? (uint16_t)bt_field_integer_unsigned_get_value(cpu) : 0;
}

static uint16_t cpu_of(const struct event_kind *kind, const bt_event *event,
                       struct decoder_packet *last)
{
    switch (kind->cpu_source) {
    case CPU_PACKET_CONTEXT: {
        const bt_packet *packet = bt_event_borrow_packet_const(event);
        if (packet != last->packet) {
            last->packet = packet;
            last->cpu = packet_cpu(packet);
        }
        return last->cpu;
    }
    case CPU_COMMON_CONTEXT:
        return (uint16_t)bt_field_integer_unsigned_get_value(
            bt_field_structure_borrow_member_field_by_index_const(
                bt_event_borrow_common_context_field_const(event), kind->cpu_index));
    default:
        return 0;
    }
}

static inline uint64_t field_of(const bt_field *payload, const struct event_kind *kind,
                                enum field field)
{
    return bt_field_integer_unsigned_get_value(
        bt_field_structure_borrow_member_field_by_index_const(payload, kind->fields[field]));
}

/* babeltrace2's string ends with NUL, however its bytes came; it lives as long as the message. One
 * that is too long is cut in a copy. */
static uint64_t text_of(struct event_decoder *decoder, const bt_field *payload,
                        const struct event_kind *kind, struct optrail_event *event)
{
    const bt_field *field =
        bt_field_structure_borrow_member_field_by_index_const(payload, kind->fields[FIELD_ARG0]);
    const char *text = bt_field_string_get_value(field);

    if (strnlen(text, EVENT_TEXT_MAX + 1) <= EVENT_TEXT_MAX)
        return (uintptr_t)text;
    memcpy(decoder->text, text, EVENT_TEXT_MAX);
    decoder->text[EVENT_TEXT_MAX] = '\0';
    event->flags |= EVENT_FLAG_CUT;
    return (uintptr_t)decoder->text;
}

/* A stamp is a reading of the clock that the events are stamped with: bring it to the same origin.
 * One that cannot be brought there stays as it is. */
static uint64_t stamp_to_origin(const struct event_kind *kind, uint64_t stamp)
{
    int64_t ns;

    if (bt_clock_class_cycles_to_ns_from_origin(kind->clock, stamp, &ns) !=
            BT_CLOCK_CLASS_CYCLES_TO_NS_FROM_ORIGIN_STATUS_OK ||
        ns < 0) {
        bt_current_thread_clear_error();
        return stamp;
    }
    return (uint64_t)ns;
}

enum decoded event_decoder_decode(struct event_decoder *decoder, const bt_message *message,
                                  struct decoder_packet *packet, struct optrail_event *event)
{
    const bt_event *from = bt_message_event_borrow_event_const(message);
    const bt_event_class *class = bt_event_borrow_class_const(from);
    struct event_kind *kind = find(decoder, class);
    const bt_field *payload;

    if (__builtin_expect(!kind->class, 0)) {
        if (decoder->used * 2 >= (size_t)1 << decoder->bits) {
            if (!grow(decoder))
                return DECODED_NO_MEMORY;
            kind = find(decoder, class);
        }
        decoder->used++;
        if (!learn(kind, class, from))
            return DECODED_NO_MEMORY;
    }
    if (kind->what != DECODED_EVENT && kind->what != DECODED_CEPH)
        return kind->what;
    if (event->time_ns == 0)
        return DECODED_MALFORMED;
    if (kind->what == DECODED_CEPH) {
        decoder->ceph.time_ns = event->time_ns;
        decoder->ceph.cpu = cpu_of(kind, from, packet);
        ceph_class_read(kind->ceph, from, &decoder->ceph);
        return DECODED_CEPH;
    }
    payload = bt_event_borrow_payload_field_const(from);
    event->point = kind->point;
    event->flags = 0;
    event->cpu = cpu_of(kind, from, packet);
    event->pid = (uint32_t)field_of(payload, kind, FIELD_PID);
    event->tid = (uint32_t)field_of(payload, kind, FIELD_TID);
    event->key = field_of(payload, kind, FIELD_KEY);
    event->arg0 = __builtin_expect(kind->has_text, 0) ? text_of(decoder, payload, kind, event)
                                                      : field_of(payload, kind, FIELD_ARG0);
    event->arg1 = field_of(payload, kind, FIELD_ARG1);
    if (__builtin_expect(kind->stamped, 0))
        event->arg0 = stamp_to_origin(kind, event->arg0);
    return DECODED_EVENT;
}

const struct ceph_event *event_decoder_ceph(const struct event_decoder *decoder)
{
    return &decoder->ceph;
}
