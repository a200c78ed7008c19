/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ANALYSIS_CEPH_H
#define OPTRAIL_ANALYSIS_CEPH_H

#include "profile_rows.h"
#include "reader.h"
#include "report.h"

/* What a report says, and a profile keeps, of Ceph's own tracepoints; nothing where there were
 * none. Return 0 or a negative errno with the message set. */
int analysis_ceph_counts(struct report *report, const struct read_ceph *ceph);
int analysis_ceph_notes(struct report *report, const struct read_ceph *ceph);

/* The row `ceph` of a profile; loading begins behind the row's name. */
void analysis_ceph_save(const struct read_ceph *ceph, struct profile_writer *writer);
void analysis_ceph_load(struct read_ceph *ceph, struct profile_reader *reader);

#endif
