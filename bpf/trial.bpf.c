// SPDX-License-Identifier: (MIT OR GPL-2.0)
/*
 * For trying what the kernel can do, on sites in the loader itself: counts the hits. The same
 * program twice, for the kernel wants to know at load time how it will be attached. The cookie, of
 * no use here, is what the other programs need at least.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

__u64 trial_hits = 0;

static __always_inline int count_hit(struct pt_regs *ctx)
{
    __sync_fetch_and_add(&trial_hits, bpf_get_attach_cookie(ctx) ? 0 : 1);
    return 0;
}

SEC("uprobe")
int trial_multi(struct pt_regs *ctx)
{
    return count_hit(ctx);
}

SEC("uprobe")
int trial_single(struct pt_regs *ctx)
{
    return count_hit(ctx);
}
