/* SPDX-License-Identifier: MIT */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

#include "provider_interface.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/*
 * Who emits. Asking the kernel costs more than the whole event, so each thread asks once. A forked
 * child is another process with one thread; it asks anew. Static thread-local storage ("initial
 * exec"): the other models may allocate memory at first use, which a probe in an allocator or in a
 * signal handler must not do.
 */
struct identity {
    uint32_t pid;
    uint32_t tid; /* 0: not asked yet */
};

static __thread struct identity identity __attribute__((tls_model("initial-exec")));

static void ask_identity(void) __attribute__((noinline, cold));

static void ask_identity(void)
{
    identity.pid = (uint32_t)getpid();
    identity.tid = (uint32_t)gettid();
}

static void forget_identity(void)
{
    identity.tid = 0;
}

static void __attribute__((constructor)) watch_forks(void)
{
    /* if it fails, for want of memory, a forked child's events carry its parent's numbers */
    (void)pthread_atfork(NULL, NULL, forget_identity);
}

typedef void emit_text_function(uint64_t key, uint64_t text, uint64_t second);

/* A text is measured before it is copied: one that is too long must not fill a sub-buffer. (A
 * catalogue need not have points with texts.) */
static void emit_text(emit_text_function *emit, uint64_t key, uint64_t first, uint64_t second)
    __attribute__((noinline, cold, unused));

static void emit_text(emit_text_function *emit, uint64_t key, uint64_t first, uint64_t second)
{
    const char *text = first ? (const char *)(uintptr_t)first : "";
    char start[OPTRAIL_TEXT_MAX + 1];

    if (strnlen(text, OPTRAIL_TEXT_MAX + 1) > OPTRAIL_TEXT_MAX) {
        memcpy(start, text, OPTRAIL_TEXT_MAX);
        start[OPTRAIL_TEXT_MAX] = '\0';
        text = start;
    }
    emit(key, (uintptr_t)text, second);
}

#define EMIT_FIRST_0(component, action, key, first, second)                                        \
    emit_whole_##component##_##action(key, first, second)
#define EMIT_FIRST_1(component, action, key, first, second)                                        \
    emit_text(emit_whole_##component##_##action, key, first, second)

/* The caller has seen that the event is enabled. */
#define OPTRAIL_POINT(component, action, role, key_kind, name0, name1, text)                       \
    static inline void emit_whole_##component##_##action(uint64_t key, uint64_t first,             \
                                                         uint64_t second)                          \
    {                                                                                              \
        if (__builtin_expect(identity.tid == 0, 0))                                                \
            ask_identity();                                                                        \
        lttng_ust_do_tracepoint(optrail, component##_##action, identity.pid, identity.tid, key,    \
                                first, second);                                                    \
    }                                                                                              \
    static void emit_##component##_##action(uint64_t key, uint64_t first, uint64_t second)         \
    {                                                                                              \
        IF_TEXT(role, EMIT_FIRST_)(component, action, key, first, second);                         \
    }
#include <optrail/events.def>
#undef OPTRAIL_POINT

static const struct optrail_lttng_slot events[] = {
#define OPTRAIL_POINT(component, action, role, key_kind, name0, name1, text)                       \
    {&lttng_ust_tracepoint_optrail___##component##_##action.state, emit_##component##_##action},
#include <optrail/events.def>
#undef OPTRAIL_POINT
};

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

provider_connect_function optrail_provider_connect __attribute__((visibility("default")));

int optrail_provider_connect(const struct provider_request *request)
{
    if (request->interface != PROVIDER_INTERFACE || request->points != EVENTS ||
        strcmp(request->catalogue, provider_catalogue) != 0)
        return -1;
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct optrail_lttng_slot *slot = request->slots[i];
        /* a thread that sees the event enabled must find the function that emits it */
        slot->emit = events[i].emit;
        __atomic_store_n(&slot->enabled, events[i].enabled, __ATOMIC_RELEASE);
    }
    return 0;
}
