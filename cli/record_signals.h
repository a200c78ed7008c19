/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RECORD_SIGNALS_H
#define OPTRAIL_RECORD_SIGNALS_H

#include <stdbool.h>

/* From now on SIGUSR1 asks for a snapshot. */
void record_signals_install(void);

/* How often it was asked so far. */
unsigned record_signals_count(void);

#endif
