/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/*
 * The least that a tracer can do at a probe. It also counts, so that the bench knows that it has
 * measured hits and not calls of a probe that is not there. One thread calls: no atomics.
 */
__u64 hits;

SEC("uprobe")
int count_hit(void *context)
{
    hits++;
    return 0;
}

char license_name[] SEC("license") = "Dual MIT/GPL";
