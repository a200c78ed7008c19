/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CPU_BLAME_H
#define OPTRAIL_CPU_BLAME_H

#include "blame.h"

/* Moves what the causes have of the ops' time only because threads waited for a CPU to a cause of
 * its own, where report->cpu is known. The others keep the rest; and what was waited because the
 * daemon's own threads had the CPUs goes back to what these are at. */
void cpu_blame(const struct report *report, struct blame *blame);

/* What there is to say of it: waited a second, ran, how busy the CPUs were, an op. `size` of 256 is
 * enough. "" where it is not known. */
void cpu_blame_words(const struct report *report, char *text, size_t size);

/* The part of the time in which threads wanted a CPU that they waited for it; 0: not known. */
double cpu_waiting(const struct report *report);

#endif
