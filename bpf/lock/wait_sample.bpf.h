/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_WAIT_SAMPLE_BPF_H
#define OPTRAIL_WAIT_SAMPLE_BPF_H

/* Of waits shorter than this, ns, some are told; 0: all are. Set by the loader as it goes. */
__u64 sample_below_ns = 0;

/* How many waits one of this length stands for, ns: longer ones are always told, shorter ones in
 * proportion to their length, so that sums stay what they are on average. 0: this one is not. */
static __always_inline __u32 weight_of(__u64 length)
{
    __u64 below = sample_below_ns;
    if (length >= below)
        return 1;
    __u64 each = below / (length ? length : 1) + 1;
    if (each > 1u << 20)
        each = 1u << 20;
    return bpf_get_prandom_u32() % (__u32)each ? 0 : (__u32)each;
}

#endif
