/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_SITES_H
#define OPTRAIL_LOCK_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "lock_wait.h"
#include "process_maps.h"

#include "lock_record.h"

/*
 * From which of libc's functions a process's futex calls come: the program counters behind all
 * `syscall` instructions that make them. Where several functions share one (a local helper), the
 * addresses that the helper returns to tell.
 *
 * Works on a stripped libc: its functions begin where .eh_frame says, the exported ones have names,
 * and a local one belongs to those that call it.
 */
struct lock_site_row {
    uint64_t counter; /* in the process */
    struct lock_site site;
};

struct lock_sites {
    struct lock_site_row *rows; /* owned */
    size_t count, capacity;
    size_t futex_sites; /* of the rows: those that are system calls */
    size_t files;       /* in which they were found */
};

/* Looks through the C library that the process has mapped, or through its program if that holds
 * one. Finding nothing is no failure: waits are then told apart by their futex call alone. -ENOMEM
 * with the message. */
int lock_sites_find(const struct process_maps *maps, struct lock_sites *sites);
void lock_sites_free(struct lock_sites *sites);

#endif
