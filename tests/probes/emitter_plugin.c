/* SPDX-License-Identifier: MIT */
#include <optrail/probe.h>

int plugin_emit(uint64_t key);

/* Starts the plugin's own probes and emits one event; false if they could not be started. */
int plugin_emit(uint64_t key)
{
    if (!optrail_probes_start())
        return 0;
    OPTRAIL(op_finish, key, 1, 2);
    return 1;
}
