/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CEPH_TRACEPOINTS_H
#define OPTRAIL_CEPH_TRACEPOINTS_H

#include <babeltrace2/babeltrace.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Ceph's own LTTng tracepoints, which a daemon built WITH_LTTNG has: which there are, what each
 * tells, and in which fields. Facts of v0.87, v0.94, v9.1.0 and v16.2.5 (src/tracing, and where the
 * tracepoints are called). What becomes of them is ceph_requests.h's.
 */

/* What a tracepoint tells. */
enum ceph_action {
    CEPH_DISPATCH,     /* a request object was made from a message */
    CEPH_QUEUE,        /* the request was put into its shard's queue */
    CEPH_TAKE,         /* a worker has taken it, its placement group is locked */
    CEPH_LEAVE,        /* that worker is done with it for now */
    CEPH_FLAGS,        /* whether it reads, writes, ... is known */
    CEPH_MARK,         /* it has come to one of six places: see enum ceph_flag_point */
    CEPH_PREPARE,      /* carrying it out begins */
    CEPH_PREPARED,     /* and ends */
    CEPH_READS,        /* the thread's request reads so many bytes */
    CEPH_WRITES,       /* the thread's request writes so many bytes */
    CEPH_STEP,         /* the thread begins a step in the object store */
    CEPH_STEP_END,     /* and ends it */
    CEPH_TXC,          /* the thread has begun a BlueStore transaction */
    CEPH_TXC_STATE,    /* a transaction has left a state */
    CEPH_TXC_COMMIT,   /* a transaction is durable */
    CEPH_TXC_END,      /* a transaction is over */
    CEPH_CALL,         /* a client's thread begins a call that ends with its answer */
    CEPH_CALL_END,     /* and ends it */
    CEPH_AIO,          /* a client's thread asks for something; the completion will tell */
    CEPH_AIO_END,      /* that call returns */
    CEPH_AIO_COMPLETE, /* what was asked for is there */
    CEPH_NOT_NEEDED,   /* nothing that an op's stages need */
    CEPH_UNMAPPED,     /* nobody has mapped it to a point */
    CEPH_ACTION_COUNT
};

/* The bits of oprequest:mark_flag_point's `flag`. */
enum ceph_flag_point {
    CEPH_POINT_QUEUED = 1,
    CEPH_POINT_REACHED = 2,
    CEPH_POINT_DELAYED = 4,
    CEPH_POINT_STARTED = 8,
    CEPH_POINT_SUBOPS_SENT = 16,
    CEPH_POINT_COMMIT_SENT = 32
};

/* The bits of a request's rmw_flags that tell what it does. */
enum ceph_rmw {
    CEPH_RMW_READ = 1 << 1,
    CEPH_RMW_WRITE = 1 << 2,
    CEPH_RMW_CLASS_READ = 1 << 3,
    CEPH_RMW_CLASS_WRITE = 1 << 4,
    CEPH_RMW_PGOP = 1 << 5,
    CEPH_RMW_CACHE = 1 << 6
};

/* The START types of the ops that are made of these events; path files name them. */
enum ceph_start_type {
    CEPH_TYPE_REQUEST = 9010,

    CEPH_TYPE_CLIENT_READ = 9020,
    CEPH_TYPE_CLIENT_WRITE,
    CEPH_TYPE_CLIENT_DISCARD,
    CEPH_TYPE_CLIENT_FLUSH,
    CEPH_TYPE_CLIENT_WRITESAME,
    CEPH_TYPE_CLIENT_COMPARE,
    CEPH_TYPE_CLIENT_REMOVE,
    CEPH_TYPE_CLIENT_STAT,

    CEPH_TYPE_STEP_READ = 9030,
    CEPH_TYPE_STEP_WRITE,
    CEPH_TYPE_STEP_OBJECT, /* touch, truncate, zero, allocation hint */
    CEPH_TYPE_STEP_REMOVE,
    CEPH_TYPE_STEP_CLONE,
    CEPH_TYPE_STEP_ATTRIBUTES,
    CEPH_TYPE_STEP_KEYS,
    CEPH_TYPE_STEP_COLLECTION,
    CEPH_TYPE_STEP_LOOKUP, /* attributes, keys or lists are read */
};

/* osd_reqid_t: the same for a client's request in every daemon that works for it. All zero: the
 * message has none. */
struct ceph_request {
    uint64_t type, number, tid, incarnation;
};

enum { CEPH_EVENT_NUMBERS = 3 };

/* One event, its fields read. */
struct ceph_event {
    uint64_t time_ns;
    uint32_t pid; /* 0: the trace does not tell */
    uint32_t tid;
    bool has_thread; /* the trace tells it */
    uint16_t cpu;
    enum ceph_action action;
    uint32_t type; /* enum ceph_start_type, of steps and calls */
    uint32_t call; /* a number for the name that an _enter and its _exit share */
    struct ceph_request request;
    uint64_t numbers[CEPH_EVENT_NUMBERS]; /* what the row in ceph_tracepoints.c names; negative ones
                                             wrap */
    double seconds;
    const char *text; /* weak: lives as long as the message */
};

/* What is known of an event class. Owned by who learned it. */
struct ceph_class;

/* Whether events of this name are Ceph's: "osd:ms_fast_dispatch". */
bool ceph_tracepoint_is(const char *name);

/* Finds what an event class of Ceph's means, and where its fields are. `env_pid`: what the trace's
 * environment says, or 0. NULL with *malformed set: it lacks a field, or has it in another type;
 * with *malformed unset: memory is short. */
struct ceph_class *ceph_class_learn(const bt_event_class *class, uint32_t env_pid, bool *malformed);
void ceph_class_free(struct ceph_class *class); /* NULL is fine */

/* Reads the fields; time_ns and cpu stay the caller's. */
void ceph_class_read(const struct ceph_class *class, const bt_event *from,
                     struct ceph_event *event);

#endif
