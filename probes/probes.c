/* SPDX-License-Identifier: MIT */
#include <optrail/probe.h>

#include "probe_slots.h"
#include "usdt_site.h"

#include <errno.h>

/* Until the provider is loaded, and without one for good, every slot is this one. */
static const volatile int never_enabled = 0;

static void emit_nothing(uint64_t key, uint64_t arg0, uint64_t arg1)
{
    (void)key;
    (void)arg0;
    (void)arg1;
}

/* Tools find a semaphore by its address in the note; the section's name is a custom. "used",
 * because the assembler's mention of it is none that the compiler sees. */
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    volatile unsigned short optrail_##component##_##action##_semaphore                             \
        __attribute__((section(".probes"), used)) = 0;                                             \
    struct optrail_lttng_slot optrail_lttng_##component##_##action = {&never_enabled, emit_nothing};
#include <optrail/events.def>
#undef OPTRAIL_POINT

#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    void optrail_emit_##component##_##action(uint64_t key_, uint64_t first_, uint64_t second_)     \
    {                                                                                              \
        USDT_SITE(component##_##action, key_, first_, second_);                                    \
        if (*optrail_lttng_##component##_##action.enabled) {                                       \
            int error_ = errno; /* a probe may stand between a call and who reads its error */     \
            optrail_lttng_##component##_##action.emit(key_, first_, second_);                      \
            errno = error_;                                                                        \
        }                                                                                          \
    }
#include <optrail/events.def>
#undef OPTRAIL_POINT

struct optrail_lttng_slot *const probe_slots[] = {
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
    &optrail_lttng_##component##_##action,
#include <optrail/events.def>
#undef OPTRAIL_POINT
};

const unsigned probe_slot_count = sizeof(probe_slots) / sizeof(probe_slots[0]);
