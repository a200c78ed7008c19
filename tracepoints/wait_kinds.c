/* SPDX-License-Identifier: MIT */
#include "wait_kinds.h"

#define OWNED   true
#define UNOWNED false

const struct wait_kind_row wait_kind_rows[WAIT_KIND_COUNT] = {
#define OPTRAIL_WAIT(name, class, owner, text) {#name, WAIT_CLASS_##class, owner, text},
#include <optrail/waits.def>
#undef OPTRAIL_WAIT
};
