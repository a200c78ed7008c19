/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TARGET_OPTIONS_H
#define OPTRAIL_TARGET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "command.h"
#include "target.h"

/* Which daemons: the options that all verbs which trace have in common. */
struct target_options {
    struct option_words pids;
    struct option_words osds;
    bool all; /* every ceph-osd of the host that can be traced */
};

/* The rows of these options, for a verb's table; `options` is a struct target_options. */
#define TARGET_OPTION_ROWS(options)                                                                \
    {.name = "pid",                                                                                \
     .letter = 'p',                                                                                \
     .type = OPTION_WORDS,                                                                         \
     .argument = "PID",                                                                            \
     .value = &(options).pids,                                                                     \
     .text = "the daemon with this process number; several: with commas, or the option again"},    \
        {.name = "osd",                                                                            \
         .type = OPTION_WORDS,                                                                     \
         .argument = "ID",                                                                         \
         .value = &(options).osds,                                                                 \
         .text = "the ceph-osd with this number; several likewise"},                               \
    {                                                                                              \
        .name = "all", .type = OPTION_FLAG, .value = &(options).all,                               \
        .text = "every ceph-osd of this host"                                                      \
    }

/* -EINVAL with the message when not exactly one way of choosing was used, or what was given is no
 * number of a process or an OSD. No process is looked at. */
int target_options_check(const struct target_options *options);

/* Finds the daemons. The caller frees *targets, of which there is at least one, none twice.
 * -EINVAL with the message for wrong use; another negative errno when one of them is not there or
 * cannot be traced (with --all: when none can; those that cannot are named on standard error). */
int target_options_choose(const struct target_options *options, struct target **targets,
                          size_t *count);

/* The same, but what is named by its process number may be any process: of one that is no storage
 * daemon the kind is "". */
int target_options_choose_any(const struct target_options *options, struct target **targets,
                              size_t *count);

/* Calls a process that is no storage daemon by its command: that becomes its kind. */
void target_command_name(struct target *target);

/* "osd.0 (ceph-osd 16.2.15, memstore, pid 4711)" */
void target_full_name(const struct target *target, char *name, size_t size);

/* "osd.0", "ministore.7000" as reports call it; one without an id is "ministore 4711", its process.
 */
void target_short_name(const struct target *target, char *name, size_t size);

/* The path file of a Ceph daemon's store, for the points alone do not tell the stores apart; NULL
 * for other daemons: all installed paths. `file` is room for the name. */
const char *target_path_file(const struct target *target, char *file, size_t size);

#endif
