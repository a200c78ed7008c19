/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TARGET_CEPH_H
#define OPTRAIL_TARGET_CEPH_H

#include <stddef.h>

#include "elf_file.h"
#include "target.h"

/* The version that a Ceph executable carries among its constants; "" if none is found. (Asking
 * the program itself would mean to run it.) */
void target_ceph_version(struct elf_file *file, char *version, size_t size);

/* Id and object store of a Ceph daemon, from its arguments, its open files, its ceph.conf and the
 * file `type` of its data directory. */
void target_ceph_inspect(struct target *target, const char *arguments, size_t size);

/* The value of an option in argv (a block of `size` bytes of strings), in the forms `-i 0`, `-i0`,
 * `--id 0`, `--id=0`; weak; NULL if it is not there. `letter` ("-i") may be NULL. */
const char *target_option(const char *arguments, size_t size, const char *letter, const char *name);

#endif
