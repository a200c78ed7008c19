/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROVIDER_INTERFACE_H
#define OPTRAIL_PROVIDER_INTERFACE_H

#include <optrail/probe.h>

#include <stdint.h>

/*
 * What liboptrail-probes.a, linked into the daemon, and optrail-provider.so, loaded at run time,
 * say to each other. The two may come from different builds: the provider looks at what it is
 * asked for and refuses what it was not made for.
 */

/* Raised whenever struct provider_request or its meaning changes. */
#define PROVIDER_INTERFACE 1u

#define PROVIDER_FILE    "optrail-provider.so"
#define PROVIDER_CONNECT "optrail_provider_connect"

/* Every row that an event is made of, so that two catalogues can be compared as a whole. */
#define OPTRAIL_POINT(component, action, role, key, arg0, arg1, text)                              \
#component "_" #action "(" #arg0 "," #arg1 ")" #role "\n"
static const char provider_catalogue[] =
#include <optrail/events.def>
    ;
#undef OPTRAIL_POINT

struct provider_request {
    uint32_t interface;    /* PROVIDER_INTERFACE of the one who asks; stays the first member */
    uint32_t points;       /* how many slots there are */
    const char *catalogue; /* provider_catalogue of the one who asks; weak */
    struct optrail_lttng_slot *const *slots; /* in the order of the catalogue; weak */
};

/* Exported by the provider as PROVIDER_CONNECT: fills the slots. Returns 0, or -1 when it was made
 * for another interface or catalogue; the slots are then as they were. It keeps no pointer into the
 * request or the slots, so whoever asked may be unloaded later. */
typedef int provider_connect_function(const struct provider_request *request);

#endif
