/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_KNOB_VALUES_H
#define OPTRAIL_KNOB_VALUES_H

#include <stddef.h>

#include "report.h"
#include "target.h"

/* Adds the running values to the knobs of the report's verdicts ("apply-threads = 2"), where all
 * daemons that know the option have the same: from a Ceph daemon's admin socket, which is only
 * read, or from another daemon's command line. What cannot be had is left as it is. -ENOMEM with
 * the message. */
int knob_values_add(struct report *report, const struct target *targets, size_t count);

#endif
