/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_H
#define OPTRAIL_PROBE_H

/*
 * The probe API that a daemon calls: C and C++, this header and the static library
 * liboptrail-probes.a.
 *
 *     OPTRAIL(opqueue_enqueue, request, shard, 0);
 *
 * emits the point `opqueue.enqueue` of the catalogue (optrail/events.def) with its key and two
 * arguments, as an LTTng-UST event and as a USDT probe of the provider `optrail`, whichever is
 * listened to. A probe that nobody listens to is two loads and a branch that is not taken; the
 * arguments are then not evaluated. With OPTRAIL_NO_PROBES defined every call compiles to nothing.
 *
 * The library itself needs no LTTng: the LTTng provider (optrail-provider.so) is loaded by
 * optrail_probes_start(), and a machine without it, or without LTTng, runs the daemon as before.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a probe knows of its LTTng event: both are set once, when the provider is loaded. */
struct optrail_lttng_slot {
    const int *enabled; /* non-zero while a session records the event; never NULL */
    void (*emit)(uint64_t key, uint64_t arg0, uint64_t arg1);
};

#ifndef OPTRAIL_NO_PROBES

/* One semaphore (raised by the kernel while a USDT tracer is attached), one slot and one emitting
 * function a point. The function is out of line: its USDT site finds the arguments in the first
 * three argument registers, and the caller's red zone stays its own. */
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    extern volatile unsigned short optrail_##component##_##action##_semaphore                      \
        __attribute__((visibility("hidden")));                                                     \
    extern struct optrail_lttng_slot optrail_lttng_##component##_##action                          \
        __attribute__((visibility("hidden")));                                                     \
    void optrail_emit_##component##_##action(uint64_t key_, uint64_t arg0_, uint64_t arg1_)        \
        __attribute__((cold));
#include <optrail/events.def>
#undef OPTRAIL_POINT

/* Whether anybody listens to the point: for arguments that are costly to make. */
#define OPTRAIL_ENABLED(point)                                                                     \
    (__builtin_expect(optrail_##point##_semaphore | *optrail_lttng_##point.enabled, 0))

#define OPTRAIL(point, key, arg0, arg1)                                                            \
    do {                                                                                           \
        if (OPTRAIL_ENABLED(point))                                                                \
            optrail_emit_##point((uint64_t)(key), (uint64_t)(arg0), (uint64_t)(arg1));             \
    } while (0)

/* Loads the LTTng provider: $OPTRAIL_PROVIDER, else optrail-provider.so beside the program or in
 * ../lib/optrail, else by the loader's search path. Call it once, in main, after the daemon has
 * forked into the background (LTTng's threads do not survive a fork) and before it starts threads.
 * Returns 1 when LTTng events can be recorded, 0 when they cannot (no provider, no LTTng,
 * OPTRAIL_PROVIDER=off): USDT probes work either way. Never fails, never prints. */
int optrail_probes_start(void);

#else

#define OPTRAIL_ENABLED(point) 0
/* sizeof keeps the arguments' variables "used" without evaluating them */
#define OPTRAIL(point, key, arg0, arg1)                                                            \
    do {                                                                                           \
        (void)sizeof(key);                                                                         \
        (void)sizeof(arg0);                                                                        \
        (void)sizeof(arg1);                                                                        \
    } while (0)
static inline int optrail_probes_start(void)
{
    return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
