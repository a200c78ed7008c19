/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_EVENT_H
#define OPTRAIL_EVENT_H

#include <stdint.h>

/* The points of the catalogue, in its order: POINT_op_start = 0, ... */
enum point {
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text) POINT_##component##_##action,
#include <optrail/events.def>
#undef OPTRAIL_POINT
    POINT_COUNT
};

/* What the trail builder does with a point. It knows nothing else of it. */
enum event_role {
    ROLE_START,    /* a new op lives under this key; an older one there is closed by force */
    ROLE_ENTER,    /* this thread now works for the op of this key (a stack per thread) */
    ROLE_LEAVE,    /* this thread no longer works for that op; without a key: for none at all */
    ROLE_MARK,     /* something happened to the op */
    ROLE_STAMP,    /* something happened to the op at time arg0 (ns, same clock), told only now */
    ROLE_LINK,     /* the op goes on under the key arg0 of kind arg1 as well */
    ROLE_FORK,     /* a parallel branch numbered arg0 begins */
    ROLE_JOIN,     /* the branch numbered arg0 has ended */
    ROLE_IDENTIFY, /* the op belongs to client arg0, transaction arg1 */
    ROLE_FINISH,   /* the op is answered */
    ROLE_END,      /* the key is dead: an op still open there is closed without a finish */
    ROLE_NOTE,     /* belongs to no op: for folds that look at events themselves */
    ROLE_PAUSE,    /* the tracer looks away: starts in this process are not told from here on; they
                      were for arg0 ns, in each of arg1 processes at a time */
    ROLE_RESUME,   /* and now they are again */
    ROLE_ANSWER, /* the op's answer is being made, by this thread: bytes in arg0, bytes out arg1 */
    ROLE_MOVE, /* the op goes on under the key arg0 of kind arg1; the one it began under is free */
    ROLE_RELEASE, /* the key is dead: an op still open there is over, for it needs no answer */
    ROLE_TEXT, /* belongs to no op; arg0 is the address of a text, which ends with NUL and lives as
                  long as the event is looked at (0: none): in a trace, a string */
    ROLE_COUNT
};

/* Keys of different kinds, or of different processes, are never the same key. */
enum key_kind {
    KEY_CURRENT,   /* no key: the op that the emitting thread works for */
    KEY_OP,        /* address of the request object */
    KEY_SEQUENCE,  /* journal sequence number */
    KEY_CLIENT_OP, /* address of the client library's request object */
    KEY_OBJECT,    /* address or number of an object */
    KEY_CONTEXT,   /* address of a completion's object */
    KEY_STORE_OP,  /* address of the object store's own request or transaction */
    KEY_MESSAGE,   /* address of a message that is to be sent */
    KEY_SUBOP,     /* number of the part of an op that other daemons do */
    KEY_LOCK,      /* address of a lock, of the word that its waiters wait at */
    KEY_STACK,     /* number of a call stack, within the process */
    KEY_COUNT
};

/* One event. Times are ns of CLOCK_MONOTONIC on the traced host. 48 bytes, no padding: also the
 * record that BPF programs write into the ring. */
struct optrail_event {
    uint64_t time_ns;
    uint64_t key;
    uint64_t arg0;
    uint64_t arg1;
    uint32_t pid;   /* process as user space names it */
    uint32_t tid;   /* thread */
    uint16_t point; /* enum point */
    uint16_t cpu;
    uint32_t flags; /* EVENT_FLAG_* */
};

/* its time was moved up: it came out of order by more than the slack */
#define EVENT_FLAG_LATE 1u
/* its text was longer than EVENT_TEXT_MAX, and ends there */
#define EVENT_FLAG_CUT 2u

/* The longest text of an event, in bytes without the NUL. */
#define EVENT_TEXT_MAX 65535u

#endif
