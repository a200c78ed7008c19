/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_H
#define OPTRAIL_PROBE_H

/*
 * The probe API that a daemon calls: C and C++, this header and the static library
 * liboptrail-probes.a. Both are for old compilers too: the header is C99 and C++98, the library
 * GNU C99.
 *
 *     OPTRAIL(opqueue_enqueue, request, shard, 0);
 *
 * emits the point `opqueue.enqueue` of the catalogue (optrail/events.def) with its key and two
 * arguments, as an LTTng-UST event and as a USDT probe of the provider `optrail`, whichever is
 * listened to. A probe that nobody listens to is three loads and a branch that is not taken; the
 * arguments are then not evaluated. With OPTRAIL_NO_PROBES defined every call compiles to nothing.
 * Any thread may call a probe at any time, also in a signal handler and in a forked child.
 * USDT sites exist on x86-64 and aarch64; elsewhere a probe is an LTTng event alone.
 *
 * The library itself needs no LTTng: the LTTng provider (optrail-provider.so) is loaded by
 * optrail_probes_start(), and a machine without it, or without LTTng, runs the daemon as before.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a probe knows of its LTTng event: both are set once, when the provider is loaded, and never
 * NULL. Volatile: the number changes under the program's feet, so no loop may keep a copy of it. */
struct optrail_lttng_slot {
    const volatile int *enabled; /* non-zero while a session records the event; weak */
    void (*emit)(uint64_t key, uint64_t arg0, uint64_t arg1);
};

/* The kinds of waits that lock.request tells: OPTRAIL_WAIT_mutex and so on (optrail/waits.def). */
enum optrail_wait_kind {
#define OPTRAIL_WAIT(name, class, owner, text) OPTRAIL_WAIT_##name,
#include <optrail/waits.def>
#undef OPTRAIL_WAIT
    OPTRAIL_WAIT_KINDS /* how many there are; C++98 allows no comma before the brace */
};

/* The kinds of keys, for the second argument of points that link one key to another: a link's or
 * move's `kind2` (event.h tells what each kind is). */
enum optrail_key_kind {
    OPTRAIL_KEY_current,
    OPTRAIL_KEY_op,
    OPTRAIL_KEY_sequence,
    OPTRAIL_KEY_client_op,
    OPTRAIL_KEY_object,
    OPTRAIL_KEY_context,
    OPTRAIL_KEY_store_op,
    OPTRAIL_KEY_message,
    OPTRAIL_KEY_subop,
    OPTRAIL_KEY_lock,
    OPTRAIL_KEY_stack,
    OPTRAIL_KEY_KINDS /* how many there are */
};

/* The longest text of an event, in bytes without the NUL. */
#define OPTRAIL_TEXT_MAX 4095

#ifndef OPTRAIL_NO_PROBES

/* One semaphore (raised by the kernel while a USDT tracer is attached), one slot and one emitting
 * function a point. The function is out of line: its USDT site finds the arguments in the first
 * three argument registers, and the caller's red zone stays its own. Everything is hidden: a
 * program and its plugins each have their own, and each calls optrail_probes_start(). */
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    extern volatile unsigned short optrail_##component##_##action##_semaphore                      \
        __attribute__((visibility("hidden")));                                                     \
    extern struct optrail_lttng_slot optrail_lttng_##component##_##action                          \
        __attribute__((visibility("hidden")));                                                     \
    void optrail_emit_##component##_##action(uint64_t key_, uint64_t arg0_, uint64_t arg1_)        \
        __attribute__((cold, noinline, visibility("hidden")));
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

/* Emits a point of the role TEXT: `text` ends with NUL, or is NULL: then it is empty. It need not
 * outlive the call. LTTng events hold its first OPTRAIL_TEXT_MAX bytes; a USDT tracer gets its
 * address as the second argument and has to read it for itself (optrail does, if it is a constant
 * in read-only memory of a file's, and shorter than 256 bytes). */
#define OPTRAIL_TEXT(point, key, text, number)                                                     \
    OPTRAIL(point, key, optrail_text_address(text), number)
static inline uint64_t optrail_text_address(const char *text)
{
    return (uint64_t)(uintptr_t)text;
}

/* Loads the LTTng provider, optrail-provider.so: the file that $OPTRAIL_PROVIDER names, else the
 * one beside the program, else lib/optrail/ under one of the three directories above its own (so
 * ../lib/optrail of an installed program, and a build tree), else in the loader's search path.
 * OPTRAIL_PROVIDER=off loads none.
 *
 * A file that another user could have put there is not loaded: it and each directory above it, up
 * to the root, must belong to root or to the effective user and be writable by nobody else. So
 * nothing is found below /tmp, nor in a group-writable build tree; $OPTRAIL_PROVIDER, which who
 * starts the program answers for, may name a file there. Nor is a file loaded that is no regular
 * one, or was cut short.
 *
 * Call it in main, after the daemon has forked into the background (LTTng's two threads do not
 * survive a fork) and before it starts threads; calling it again does nothing. With an LTTng
 * session daemon running it waits until the events are registered there, by LTTng's own limit at
 * most 3 s ($LTTNG_UST_REGISTER_TIMEOUT, in ms); without one it does not wait.
 *
 * Returns 1 when LTTng events can be recorded, 0 when they cannot (no provider, no LTTng, a
 * provider made for another catalogue, OPTRAIL_PROVIDER=off): USDT probes work either way. Never
 * fails, never prints. */
int optrail_probes_start(void) __attribute__((visibility("hidden")));

/* For points of the role STAMP, whose stamp_ns is of the clock of the events: a time of the wall
 * clock, in ns since 1970, on that clock. 0 for 0 and for what was before the machine started: such
 * a stamp is refused and counted. A time to come is now. Reads two clocks: call it only in a
 * probe's arguments. */
uint64_t optrail_stamp(uint64_t wall_ns) __attribute__((visibility("hidden")));

/* For what is told only later, because the op is not known yet where it happens: remembers the time
 * for this thread, of the clock of the events; and that time, or 0 when there is none.
 *
 *     if (OPTRAIL_ENABLED(pg_lock_asked))
 *         optrail_remember();
 *     lock();
 *     ...
 *     OPTRAIL(pg_lock_asked, op, optrail_remembered(), 0);
 */
void optrail_remember(void) __attribute__((visibility("hidden")));
uint64_t optrail_remembered(void) __attribute__((visibility("hidden")));

#else

#define OPTRAIL_ENABLED(point) 0
/* never evaluated, but the arguments' variables count as used */
#define OPTRAIL(point, key, arg0, arg1)                                                            \
    do {                                                                                           \
        if (0) {                                                                                   \
            (void)(key);                                                                           \
            (void)(arg0);                                                                          \
            (void)(arg1);                                                                          \
        }                                                                                          \
    } while (0)
#define OPTRAIL_TEXT(point, key, text, number) OPTRAIL(point, key, text, number)
static inline int optrail_probes_start(void)
{
    return 0;
}
static inline uint64_t optrail_stamp(uint64_t wall_ns)
{
    (void)wall_ns;
    return 0;
}
static inline void optrail_remember(void)
{
}
static inline uint64_t optrail_remembered(void)
{
    return 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
