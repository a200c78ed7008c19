/* SPDX-License-Identifier: MIT */
#include "ceph_tracepoints.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { NO_FIELD = 255, NUMBERS = CEPH_EVENT_NUMBERS, REQUEST_FIELDS = 4, NAME_MAX_LENGTH = 128 };

/* One tracepoint, or those whose name matches a pattern. The first row that matches an event
 * counts. A field that a row names must be there. */
struct row {
    const char *name;
    enum ceph_action action;
    uint32_t type;
    bool request; /* it has the four fields of a request's id */
    const char *numbers[NUMBERS];
    const char *seconds;
    const char *text;
};

static const struct row rows[] = {
    {.name = "oprequest:set_rmw_flags",
     .action = CEPH_FLAGS,
     .request = true,
     .numbers = {"new_rmw_flags"}},
    {.name = "oprequest:mark_flag_point",
     .action = CEPH_MARK,
     .request = true,
     .numbers = {"rmw_flags", "flag"},
     .text = "msg"},
    {.name = "osd:ms_fast_dispatch", .action = CEPH_DISPATCH, .request = true},
    {.name = "pg:queue_op", .action = CEPH_QUEUE, .request = true, .numbers = {"rmw_flags"}},
    {.name = "osd:opwq_process_start", .action = CEPH_TAKE, .request = true},
    {.name = "osd:opwq_process_finish", .action = CEPH_LEAVE, .request = true},
    {.name = "osd:prepare_tx_enter", .action = CEPH_PREPARE, .request = true},
    {.name = "osd:prepare_tx_exit", .action = CEPH_PREPARED, .request = true},
    {.name = "osd:do_osd_op_pre_read", .action = CEPH_READS, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre_sparse_read", .action = CEPH_READS, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre_write", .action = CEPH_WRITES, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre_writefull", .action = CEPH_WRITES, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre_append", .action = CEPH_WRITES, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre_writesame", .action = CEPH_WRITES, .numbers = {"length"}},
    {.name = "osd:do_osd_op_pre*",
     .action = CEPH_NOT_NEEDED}, /* the requests' flags tell what is needed of them */

    /* FileStore. Those of transactions come in the threads that apply, and name a sequencer alone:
     * no request. Those that read come in the request's worker. */
    {.name = "objectstore:read_enter",
     .action = CEPH_STEP,
     .type = CEPH_TYPE_STEP_READ,
     .numbers = {"len"}},
    {.name = "objectstore:write_enter",
     .action = CEPH_STEP,
     .type = CEPH_TYPE_STEP_WRITE,
     .numbers = {"length"}},
    {.name = "objectstore:touch_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_OBJECT},
    {.name = "objectstore:truncate_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_OBJECT},
    {.name = "objectstore:zero_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_OBJECT},
    {.name = "objectstore:setallochint_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_OBJECT},
    {.name = "objectstore:remove_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_REMOVE},
    {.name = "objectstore:clone*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_CLONE},
    {.name = "objectstore:move_ranges_destroy_src_enter",
     .action = CEPH_STEP,
     .type = CEPH_TYPE_STEP_CLONE},
    {.name = "objectstore:setattr*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_ATTRIBUTES},
    {.name = "objectstore:rmattr*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_ATTRIBUTES},
    {.name = "objectstore:omap_set*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_KEYS},
    {.name = "objectstore:omap_rm*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_KEYS},
    {.name = "objectstore:omap_clear_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_KEYS},
    {.name = "objectstore:coll_*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_COLLECTION},
    {.name = "objectstore:*coll_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_COLLECTION},
    {.name = "objectstore:split_coll2_enter",
     .action = CEPH_STEP,
     .type = CEPH_TYPE_STEP_COLLECTION},
    {.name = "objectstore:startsync*",
     .action = CEPH_NOT_NEEDED}, /* marks a place in a transaction, does nothing */
    {.name = "objectstore:*_enter", .action = CEPH_STEP, .type = CEPH_TYPE_STEP_LOOKUP},
    {.name = "objectstore:*_exit", .action = CEPH_STEP_END},
    {.name = "objectstore:*", .action = CEPH_NOT_NEEDED},

    /* BlueStore, of the transactions that its sampling has chosen */
    {.name = "bluestore:transaction_initial_state",
     .action = CEPH_TXC,
     .numbers = {"sequencer_id", "tid"},
     .seconds = "throttle_time"},
    {.name = "bluestore:transaction_state_duration",
     .action = CEPH_TXC_STATE,
     .numbers = {"sequencer_id", "tid", "state"}},
    {.name = "bluestore:transaction_commit_latency",
     .action = CEPH_TXC_COMMIT,
     .numbers = {"sequencer_id", "tid"}},
    {.name = "bluestore:transaction_total_duration",
     .action = CEPH_TXC_END,
     .numbers = {"sequencer_id", "tid"}},
    {.name = "bluestore:*",
     .action = CEPH_NOT_NEEDED}, /* figures of RocksDB, and times that the others tell as well */

    {.name = "librbd:read_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"length"}},
    {.name = "librbd:read2_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"length"}},
    {.name = "librbd:read_iterate*_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"length"}},
    {.name = "librbd:write_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"buf_len"}},
    {.name = "librbd:write2_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"buf_len"}},
    {.name = "librbd:discard_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_DISCARD,
     .numbers = {"len"}},
    {.name = "librbd:flush_enter", .action = CEPH_CALL, .type = CEPH_TYPE_CLIENT_FLUSH},
    {.name = "librbd:writesame_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITESAME,
     .numbers = {"len"}},
    {.name = "librbd:compare_and_write_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_COMPARE,
     .numbers = {"buf_len"}},
    {.name = "librbd:read*_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librbd:write*_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librbd:discard_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librbd:flush_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librbd:compare_and_write_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librbd:aio_read_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"length", "completion"}},
    {.name = "librbd:aio_read2_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"length", "completion"}},
    {.name = "librbd:aio_write_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"len", "completion"}},
    {.name = "librbd:aio_write2_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"len", "completion"}},
    {.name = "librbd:aio_discard_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_DISCARD,
     .numbers = {"len", "completion"}},
    {.name = "librbd:aio_flush_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_FLUSH,
     .numbers = {NULL, "completion"}},
    {.name = "librbd:aio_writesame_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_WRITESAME,
     .numbers = {"len", "completion"}},
    {.name = "librbd:aio_compare_and_write_enter",
     .action = CEPH_AIO,
     .type = CEPH_TYPE_CLIENT_COMPARE,
     .numbers = {"len", "completion"}},
    {.name = "librbd:aio_complete_enter",
     .action = CEPH_AIO_COMPLETE,
     .numbers = {"rval", "completion"}},
    {.name = "librbd:aio_complete_exit", .action = CEPH_NOT_NEEDED},
    {.name = "librbd:aio_is_complete*", .action = CEPH_NOT_NEEDED},
    {.name = "librbd:aio_get_return_value*", .action = CEPH_NOT_NEEDED},
    {.name = "librbd:aio_wait_for_complete*", .action = CEPH_NOT_NEEDED},
    {.name = "librbd:aio_read_exit", .action = CEPH_AIO_END},
    {.name = "librbd:aio_write*_exit", .action = CEPH_AIO_END},
    {.name = "librbd:aio_discard_exit", .action = CEPH_AIO_END},
    {.name = "librbd:aio_flush_exit", .action = CEPH_AIO_END},
    {.name = "librbd:aio_compare_and_write_exit", .action = CEPH_AIO_END},
    {.name = "librbd:*", .action = CEPH_UNMAPPED},

    /* of librados' asynchronous calls no tracepoint tells the end */
    {.name = "librados:rados_read_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_READ,
     .numbers = {"len"}},
    {.name = "librados:rados_write_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"buf_len"}},
    {.name = "librados:rados_write_full_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"buf_len"}},
    {.name = "librados:rados_append_enter",
     .action = CEPH_CALL,
     .type = CEPH_TYPE_CLIENT_WRITE,
     .numbers = {"buf_len"}},
    {.name = "librados:rados_remove_enter", .action = CEPH_CALL, .type = CEPH_TYPE_CLIENT_REMOVE},
    {.name = "librados:rados_stat_enter", .action = CEPH_CALL, .type = CEPH_TYPE_CLIENT_STAT},
    {.name = "librados:rados_read_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:rados_write_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:rados_write_full_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:rados_append_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:rados_remove_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:rados_stat_exit", .action = CEPH_CALL_END, .numbers = {"retval"}},
    {.name = "librados:*", .action = CEPH_UNMAPPED},

    {.name = "oprequest:*", .action = CEPH_UNMAPPED},
    {.name = "osd:*", .action = CEPH_UNMAPPED},
    {.name = "pg:*", .action = CEPH_UNMAPPED},
    {.name = "eventtrace:*", .action = CEPH_UNMAPPED},
    {.name = "rgw_op:*", .action = CEPH_UNMAPPED},
    {.name = "rgw_rados:*", .action = CEPH_UNMAPPED},
    {.name = "mutex:*", .action = CEPH_UNMAPPED},
    {.name = "lttng_ust_cyg_profile:*", .action = CEPH_UNMAPPED},
};

static const char *const request_fields[REQUEST_FIELDS] = {"type", "num", "tid", "inc"};

/* Where a number stands. */
struct place {
    uint8_t index; /* NO_FIELD: nowhere */
    bool is_signed;
};

struct ceph_class {
    const struct row *row;
    uint32_t call;
    uint32_t env_pid;
    struct place pid, tid, pthread; /* in the common context */
    struct place request[REQUEST_FIELDS];
    struct place numbers[NUMBERS];
    uint8_t seconds, text;
};

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (fnmatch(rows[i].name, name, 0) == 0)
            return &rows[i];
    return NULL;
}

bool ceph_tracepoint_is(const char *name)
{
    return row_of(name) != NULL;
}

/* A member's place and class; NO_FIELD and NULL if there is none of that name. */
static const bt_field_class *member(const bt_field_class *structure, const char *name,
                                    uint8_t *index)
{
    uint64_t count;

    *index = NO_FIELD;
    if (!structure || bt_field_class_get_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
        return NULL;
    count = bt_field_class_structure_get_member_count(structure);
    for (uint64_t i = 0; i < count && i < NO_FIELD; i++) {
        const bt_field_class_structure_member *found =
            bt_field_class_structure_borrow_member_by_index_const(structure, i);
        if (strcmp(bt_field_class_structure_member_get_name(found), name) == 0) {
            *index = (uint8_t)i;
            return bt_field_class_structure_member_borrow_field_class_const(found);
        }
    }
    return NULL;
}

/* Ceph's fields are signed here and unsigned there, over the versions. */
static bool find_number(const bt_field_class *structure, const char *name, struct place *place)
{
    const bt_field_class *class = member(structure, name, &place->index);
    bt_field_class_type type = class ? bt_field_class_get_type(class) : BT_FIELD_CLASS_TYPE_STRING;

    place->is_signed = type == BT_FIELD_CLASS_TYPE_SIGNED_INTEGER;
    if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER || place->is_signed)
        return true;
    place->index = NO_FIELD;
    return false;
}

static bool find_other(const bt_field_class *structure, const char *name, bt_field_class_type type,
                       uint8_t *index)
{
    const bt_field_class *class = member(structure, name, index);
    return class && bt_field_class_get_type(class) == type;
}

static bool find_fields(struct ceph_class *class, const bt_field_class *payload)
{
    const struct row *row = class->row;

    for (int i = 0; row->request && i < REQUEST_FIELDS; i++)
        if (!find_number(payload, request_fields[i], &class->request[i]))
            return false;
    for (int i = 0; i < NUMBERS; i++) {
        class->numbers[i].index = NO_FIELD;
        if (row->numbers[i] && !find_number(payload, row->numbers[i], &class->numbers[i]))
            return false;
    }
    if (row->seconds && !find_other(payload, row->seconds,
                                    BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL, &class->seconds))
        return false;
    return !row->text || find_other(payload, row->text, BT_FIELD_CLASS_TYPE_STRING, &class->text);
}

/* A number for the name without its _enter or _exit, and without the version of the call:
 * librbd:read2_enter ends with librbd:read_exit. (FNV-1a) */
static uint32_t call_of(const char *name)
{
    const char *end = strrchr(name, '_');
    uint32_t hash = 2166136261u;

    if (!end)
        end = name + strlen(name);
    while (end > name && end[-1] >= '0' && end[-1] <= '9')
        end--;
    for (; name < end; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

struct ceph_class *ceph_class_learn(const bt_event_class *class, uint32_t env_pid, bool *malformed)
{
    const char *name = bt_event_class_get_name(class);
    const bt_field_class *context = bt_stream_class_borrow_event_common_context_field_class_const(
        bt_event_class_borrow_stream_class_const(class));
    struct ceph_class *learned = calloc(1, sizeof(*learned));

    *malformed = false;
    if (!learned)
        return NULL;
    learned->row = row_of(name);
    learned->call = call_of(name);
    learned->env_pid = env_pid;
    find_number(context, "vpid", &learned->pid);
    find_number(context, "vtid", &learned->tid);
    find_number(context, "pthread_id", &learned->pthread);
    *malformed = !find_fields(learned, bt_event_class_borrow_payload_field_class_const(class));
    if (*malformed) {
        free(learned);
        return NULL;
    }
    return learned;
}

void ceph_class_free(struct ceph_class *class)
{
    free(class);
}

static uint64_t number_at(const bt_field *structure, struct place place)
{
    const bt_field *field;

    if (place.index == NO_FIELD)
        return 0;
    field = bt_field_structure_borrow_member_field_by_index_const(structure, place.index);
    return place.is_signed ? (uint64_t)bt_field_integer_signed_get_value(field)
                           : bt_field_integer_unsigned_get_value(field);
}

static void read_thread(const struct ceph_class *class, const bt_event *from,
                        struct ceph_event *event)
{
    const bt_field *context = bt_event_borrow_common_context_field_const(from);

    event->pid =
        class->pid.index == NO_FIELD ? class->env_pid : (uint32_t)number_at(context, class->pid);
    event->has_thread = true;
    if (class->tid.index != NO_FIELD)
        event->tid = (uint32_t)number_at(context, class->tid);
    else if (class->pthread.index != NO_FIELD)
        /* an address, of which threads that live together differ in these bits */
        event->tid = (uint32_t)(number_at(context, class->pthread) >> 6);
    else
        event->has_thread = false;
}

void ceph_class_read(const struct ceph_class *class, const bt_event *from, struct ceph_event *event)
{
    const struct row *row = class->row;
    const bt_field *payload = bt_event_borrow_payload_field_const(from);

    *event = (struct ceph_event){.time_ns = event->time_ns,
                                 .cpu = event->cpu,
                                 .action = row->action,
                                 .type = row->type,
                                 .call = class->call};
    read_thread(class, from, event);
    if (row->request)
        event->request = (struct ceph_request){
            number_at(payload, class->request[0]), number_at(payload, class->request[1]),
            number_at(payload, class->request[2]), number_at(payload, class->request[3])};
    for (int i = 0; i < NUMBERS; i++)
        event->numbers[i] = number_at(payload, class->numbers[i]);
    if (row->seconds)
        event->seconds = bt_field_real_double_precision_get_value(
            bt_field_structure_borrow_member_field_by_index_const(payload, class->seconds));
    if (row->text)
        event->text = bt_field_string_get_value(
            bt_field_structure_borrow_member_field_by_index_const(payload, class->text));
}
