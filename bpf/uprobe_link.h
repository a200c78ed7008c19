/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_UPROBE_LINK_H
#define OPTRAIL_UPROBE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_program;

/* enum bpf_attach_type's BPF_TRACE_UPROBE_MULTI, Linux 6.6: Debian 12's headers do not have it.
 * What a program for uprobe_multi links says when it is loaded. */
#define UPROBE_ATTACH_MULTI 48

/* Where to probe, in one file. */
struct uprobe_place {
    uint64_t offset;           /* in the file */
    uint64_t semaphore_offset; /* counter that the kernel raises while attached; 0: none */
    uint64_t cookie;
};

/* The two ways to attach: one link for all places (Linux 6.6 and later), or a perf event a place
 * (bpf cookies: Linux 5.15). The second detaches slowly: about 0.1 s a place. */
struct uprobe_programs {
    struct bpf_program *multi;  /* loaded for uprobe_multi links; NULL: do not use them; weak */
    struct bpf_program *single; /* weak */
    bool all_processes; /* do not let the kernel filter by process: it does that wrongly (see
                           trial.h); the program must then filter itself */
};

struct uprobe_link;

/* Attaches a program to all places of a file that is open (`file`: its descriptor), and to nothing
 * that has taken its path since. On failure nothing stays attached, and the message
 * says what the kernel said. The probes are held by a process of their own that ends with this one,
 * however it ends, also when it is killed in the middle of attaching or detaching. Owned by the
 * caller. */
int uprobe_link_attach(const struct uprobe_programs *programs, int file, pid_t pid,
                       const struct uprobe_place *places, size_t count, struct uprobe_link **link);
void uprobe_link_detach(struct uprobe_link *link); /* NULL is fine */

/* The same for several. The kernel lets everyone who detaches wait for a grace period; so they wait
 * together. Entries may be NULL. */
void uprobe_link_detach_all(struct uprobe_link *const *links, size_t count);

/* Whether it is one link for all. */
bool uprobe_link_is_multi(const struct uprobe_link *link);

/* -errno to the one-line message for what the kernel refused (no privilege, lockdown, ...). */
int uprobe_refused(int error, const char *what);

/* The same for programs that it does not load. */
int uprobe_load_refused(int error);

#endif
