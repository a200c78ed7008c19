/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_WATCHED_BPF_H
#define OPTRAIL_WATCHED_BPF_H

/* Which processes are watched, also where the kernel numbers them otherwise than the loader. */

/* Set before loading. */
const volatile __u64 namespace_device = 0;
const volatile __u64 namespace_inode = 0; /* 0: the initial pid namespace, where numbers agree */

/* The only process there is, by the kernel's number, with the number 0 among the processes; 0:
 * there are several, or it is not known. */
__u32 only_tgid = 0;
/* By their numbers. */
struct lock_process process_facts[LOCK_MAX_PROCESSES];

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LOCK_MAX_PROCESSES);
    __type(key, __u32);
    __type(value, __u32); /* its number */
} processes SEC(".maps");

/* In a pid namespace: by the number there, for the kernel's is not known to the loader. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LOCK_MAX_PROCESSES);
    __type(key, __u32);
    __type(value, __u32);
} named_processes SEC(".maps");

/* What can be told without a look into a table. */
static __always_inline bool is_foreign(__u32 tgid)
{
    return only_tgid && tgid != only_tgid;
}

/* The number of the watched process that the current one is; LOCK_MAX_PROCESSES: it is none. */
static __always_inline __u32 process_of_current(__u32 tgid)
{
    if (only_tgid)
        return 0; /* is_foreign() has looked */
    __u32 *process = bpf_map_lookup_elem(&processes, &tgid);
    if (process)
        return *process;
    struct bpf_pidns_info info = {};
    if (!namespace_inode ||
        bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
        return LOCK_MAX_PROCESSES;
    process = bpf_map_lookup_elem(&named_processes, &info.tgid);
    if (!process)
        return LOCK_MAX_PROCESSES;
    bpf_map_update_elem(&processes, &tgid, process, BPF_NOEXIST);
    return *process;
}

/* As user space names it. */
static __always_inline __u32 tid_of_current(void)
{
    if (!namespace_inode)
        return (__u32)bpf_get_current_pid_tgid();
    struct bpf_pidns_info info = {};
    if (bpf_get_ns_current_pid_tgid(namespace_device, namespace_inode, &info, sizeof(info)))
        return 0;
    return info.pid;
}

#endif
