/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TRIAL_H
#define OPTRAIL_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "uprobe_link.h"

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

/* Attaches `programs` to this process's own sites for some milliseconds. `hits` is where the
 * programs count (mapped memory of the BPF object). -errno with the message only when no way to
 * attach works. One of the two programs may be NULL: that way is not tried. */
int trial_run(struct uprobe_programs programs, const volatile uint64_t *hits, struct trial *trial);

/* Whether the 5-byte nop is the better place for a USDT probe. */
bool trial_prefers_nop5(const struct trial *trial);

#endif
