/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROBE_SLOTS_H
#define OPTRAIL_PROBE_SLOTS_H

#include <optrail/probe.h>

/* The LTTng slots of this program or shared library, in the order of the catalogue. */
extern struct optrail_lttng_slot *const probe_slots[] __attribute__((visibility("hidden")));
extern const unsigned probe_slot_count __attribute__((visibility("hidden")));

#endif
