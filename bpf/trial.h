/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRIAL_H
#define OPTRAIL_TRIAL_H

#include <stdbool.h>

/*
 * What this kernel can do is found by trying it on sites in this very process.
 */
struct trial {
    bool multi;         /* uprobe_multi links work (Linux 6.6) */
    bool all_processes; /* their filter by process sees the main thread alone, as before "bpf: fix
                           multi-uprobe PID filtering logic" (Linux 6.10): filter in the program */
    double nop1_ns;     /* a hit on a 1-byte nop; 0: could not be measured */
    double nop5_ns; /* a hit on a 5-byte nop, which Linux 6.18 can turn into a call ("uprobes/x86:
                       Add support to optimize uprobes"); 0: could not be measured */
};

/* Tries one of the two ways to attach: uprobe_multi links or perf events. `trial->multi` tells
 * whether the first one works; that it does not is no error. -errno with the message when the
 * kernel refuses for want of privilege, or has no perf events for uprobes either. The kernel stays
 * the same while this process lives: each way is tried once, and takes some 10 ms. Any thread. */
int trial_run(bool multi, struct trial *trial);

/* Whether the 5-byte nop is the better place for a USDT probe. */
bool trial_prefers_nop5(const struct trial *trial);

#endif
