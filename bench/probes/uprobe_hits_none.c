/* SPDX-License-Identifier: MIT */
#include "uprobe_hits.h"

#include "err.h"

#include <errno.h>

/* The bench built without eBPF. */
int uprobe_hits_open(const void *address, const volatile void *semaphore,
                     struct uprobe_hits **uprobe)
{
    (void)address;
    (void)semaphore;
    (void)uprobe;
    return err_set(ENOSYS, "built without eBPF: it needs clang and bpftool");
}

uint64_t uprobe_hits_count(const struct uprobe_hits *uprobe)
{
    (void)uprobe;
    return 0;
}

void uprobe_hits_close(struct uprobe_hits *uprobe)
{
    (void)uprobe;
}
