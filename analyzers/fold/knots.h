/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_KNOTS_H
#define OPTRAIL_KNOTS_H

#include "report.h"

/*
 * Knots of the wait-for graph of locks (wPerf, Zhou et al., OSDI 2018): locks of which each one's
 * holders wait for another one of them, and for none outside. To make one of them cheaper gains
 * nothing unless the others are. Adds a note for each knot.
 */
int knots_note(struct report *report);

#endif
