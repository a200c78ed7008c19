/* SPDX-License-Identifier: MIT */
#include "event_classes.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event_source.h"
#include "points.h"

/* The fields in the order of the provider's; the last two are named by the catalogue. */
enum field { FIELD_PID, FIELD_TID, FIELD_KEY, FIELD_ARG0, FIELD_ARG1, FIELD_COUNT };

/* CLOCK_MONOTONIC counts from this boot: its uuid is the boot's, as LTTng has it, so that traces of
 * one boot merge and those of two do not. */
static bool boot_uuid(uint8_t uuid[16])
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length;
    size_t digits = 0;

    if (fd < 0)
        return false;
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    memset(uuid, 0, 16);
    for (ssize_t i = 0; i < length && digits < 32; i++) {
        const char *place = text[i] ? strchr("0123456789abcdef", text[i]) : NULL;
        if (!place)
            continue;
        uuid[digits / 2] |= (uint8_t)((place - "0123456789abcdef") << (digits % 2 ? 0 : 4));
        digits++;
    }
    return digits == 32;
}

static bt_clock_class *make_clock(bt_self_component *self)
{
    bt_clock_class *clock = bt_clock_class_create(self);
    uint8_t uuid[16];

    if (!clock)
        return NULL;
    bt_clock_class_set_frequency(clock, 1000000000);
    bt_clock_class_set_origin_is_unix_epoch(clock, BT_FALSE);
    if (boot_uuid(uuid))
        bt_clock_class_set_uuid(clock, uuid);
    if (bt_clock_class_set_name(clock, "monotonic") != BT_CLOCK_CLASS_SET_NAME_STATUS_OK) {
        bt_clock_class_put_ref(clock);
        return NULL;
    }
    return clock;
}

static bool add_integer(bt_trace_class *trace_class, bt_field_class *structure, const char *name,
                        unsigned bits, bool hexadecimal)
{
    bt_field_class *integer = bt_field_class_integer_unsigned_create(trace_class);
    bool fine;

    if (!integer)
        return false;
    bt_field_class_integer_set_field_value_range(integer, bits);
    if (hexadecimal)
        bt_field_class_integer_set_preferred_display_base(
            integer, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
    fine = bt_field_class_structure_append_member(structure, name, integer) ==
           BT_FIELD_CLASS_STRUCTURE_APPEND_MEMBER_STATUS_OK;
    bt_field_class_put_ref(integer);
    return fine;
}

static bool add_string(bt_trace_class *trace_class, bt_field_class *structure, const char *name)
{
    bt_field_class *string = bt_field_class_string_create(trace_class);
    bool fine = string && bt_field_class_structure_append_member(structure, name, string) ==
                              BT_FIELD_CLASS_STRUCTURE_APPEND_MEMBER_STATUS_OK;

    bt_field_class_put_ref(string);
    return fine;
}

static bt_stream_class *make_stream_class(bt_trace_class *trace_class, bt_clock_class *clock)
{
    bt_stream_class *class = bt_stream_class_create(trace_class);
    bt_field_class *context = bt_field_class_structure_create(trace_class);
    bool fine = class && context;

    fine = fine && bt_stream_class_set_default_clock_class(class, clock) ==
                       BT_STREAM_CLASS_SET_DEFAULT_CLOCK_CLASS_STATUS_OK;
    if (fine) {
        bt_stream_class_set_supports_packets(class, BT_TRUE, BT_TRUE, BT_TRUE);
        bt_stream_class_set_supports_discarded_events(class, BT_TRUE, BT_TRUE);
    }
    /* all cpus share the one stream: the cpu stands with each event, not with the packet */
    fine = fine && add_integer(trace_class, context, "cpu_id", 32, false) &&
           bt_stream_class_set_event_common_context_field_class(class, context) ==
               BT_STREAM_CLASS_SET_FIELD_CLASS_STATUS_OK;
    bt_field_class_put_ref(context);
    if (!fine) {
        bt_stream_class_put_ref(class);
        return NULL;
    }
    return class;
}

static bt_event_class *make_event_class(bt_trace_class *trace_class, bt_stream_class *stream_class,
                                        const struct point_row *row)
{
    bt_event_class *class = bt_event_class_create(stream_class);
    bt_field_class *payload = bt_field_class_structure_create(trace_class);
    char name[128];
    bool fine = class && payload;

    snprintf(name, sizeof(name), "optrail:%s", row->identifier);
    fine = fine && bt_event_class_set_name(class, name) == BT_EVENT_CLASS_SET_NAME_STATUS_OK &&
           add_integer(trace_class, payload, "pid", 32, false) &&
           add_integer(trace_class, payload, "tid", 32, false) &&
           add_integer(trace_class, payload, "key", 64, true) &&
           (row->role == ROLE_TEXT ? add_string(trace_class, payload, row->arg0)
                                   : add_integer(trace_class, payload, row->arg0, 64, false)) &&
           add_integer(trace_class, payload, row->arg1, 64, false) &&
           bt_event_class_set_payload_field_class(class, payload) ==
               BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
    bt_field_class_put_ref(payload);
    if (!fine) {
        bt_event_class_put_ref(class);
        return NULL;
    }
    return class;
}

static bool set_fact(bt_trace *trace, const struct event_fact *fact)
{
    return (fact->text ? bt_trace_set_environment_entry_string(trace, fact->name, fact->text)
                       : bt_trace_set_environment_entry_integer(trace, fact->name,
                                                                (int64_t)fact->number)) ==
           BT_TRACE_SET_ENVIRONMENT_ENTRY_STATUS_OK;
}

static bool make_trace(struct event_classes *classes, bt_stream_class *stream_class)
{
    const struct event_fact tracer = {.name = "tracer_name", .text = "optrail"};
    const struct event_fact *fact = classes->feed->facts;
    bool fine;

    classes->trace = bt_trace_create(classes->trace_class);
    fine = classes->trace && set_fact(classes->trace, &tracer);
    for (; fine && fact && fact->name; fact++)
        fine = set_fact(classes->trace, fact);
    return fine && (classes->stream = bt_stream_create(stream_class, classes->trace)) != NULL;
}

struct event_classes *event_classes_new(bt_self_component *self, struct event_feed *feed)
{
    struct event_classes *classes = calloc(1, sizeof(*classes));
    bt_clock_class *clock = make_clock(self);
    bt_stream_class *stream_class = NULL;
    bool fine;

    if (classes) {
        classes->feed = feed;
        classes->trace_class = bt_trace_class_create(self);
    }
    fine = classes && clock && classes->trace_class &&
           (stream_class = make_stream_class(classes->trace_class, clock)) != NULL;
    for (int i = 0; fine && i < POINT_COUNT; i++) {
        classes->points[i] = make_event_class(classes->trace_class, stream_class, &point_rows[i]);
        fine = classes->points[i] != NULL;
    }
    fine = fine && make_trace(classes, stream_class);
    bt_stream_class_put_ref(stream_class);
    bt_clock_class_put_ref(clock);
    if (!fine) {
        event_classes_free(classes);
        return NULL;
    }
    return classes;
}

void event_classes_free(struct event_classes *classes)
{
    if (!classes)
        return;
    for (int i = 0; i < POINT_COUNT; i++)
        bt_event_class_put_ref(classes->points[i]);
    bt_stream_put_ref(classes->stream);
    bt_trace_put_ref(classes->trace);
    bt_trace_class_put_ref(classes->trace_class);
    free(classes);
}

static void set_integer(bt_field *structure, enum field field, uint64_t value)
{
    bt_field_integer_unsigned_set_value(
        bt_field_structure_borrow_member_field_by_index(structure, field), value);
}

/* What is longer than an event's text may be is left out. False for want of memory. */
static bool set_text(bt_field *structure, uint64_t address)
{
    bt_field *field = bt_field_structure_borrow_member_field_by_index(structure, FIELD_ARG0);
    const char *text = (const char *)(uintptr_t)address;

    bt_field_string_clear(field);
    return !text ||
           bt_field_string_append_with_length(field, text, strnlen(text, EVENT_TEXT_MAX)) ==
               BT_FIELD_STRING_APPEND_STATUS_OK;
}

bool event_classes_fill(bt_event *event, const struct optrail_event *from)
{
    bt_field *payload = bt_event_borrow_payload_field(event);
    bt_field *context = bt_event_borrow_common_context_field(event);

    set_integer(payload, FIELD_PID, from->pid);
    set_integer(payload, FIELD_TID, from->tid);
    set_integer(payload, FIELD_KEY, from->key);
    set_integer(payload, FIELD_ARG1, from->arg1);
    bt_field_integer_unsigned_set_value(bt_field_structure_borrow_member_field_by_index(context, 0),
                                        from->cpu);
    if (point_rows[from->point].role == ROLE_TEXT)
        return set_text(payload, from->arg0);
    set_integer(payload, FIELD_ARG0, from->arg0);
    return true;
}
