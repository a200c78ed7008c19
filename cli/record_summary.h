/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RECORD_SUMMARY_H
#define OPTRAIL_RECORD_SUMMARY_H

#include "lock_capture.h"
#include "sample_feed.h"

/* What of the captured waits, or samples, is in the trace and what is not: lines on standard error,
 * each with the `name` of the recording. */
void record_summary_locks(const char *name, struct lock_capture *locks);
void record_summary_samples(const char *name, struct sample_capture *samples,
                            const struct sample_feed *feed);

#endif
