/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_WORDS_H
#define OPTRAIL_SAMPLE_WORDS_H

#include <stddef.h>

#include "sample_capture.h"

/* How many stacks are whole, and what the others are, as a sentence without its stop. */
void sample_words_stacks(const struct sample_counts *counts, char *text, size_t size);

/* What of the time was not seen, line by line; false behind the last one. `index` counts from 0. */
bool sample_words_lost(const struct sample_counts *counts, size_t index, char *text, size_t size);

/* What was left out, since these waits are of threads that had nothing to do. Returns `text`. */
const char *sample_words_idle(uint64_t waits, uint64_t ns, char *text, size_t size);

/* There were samples, but none is left: some are not of what was asked for, or else all are of
 * threads that had nothing to do. -ENODATA with the message. */
int sample_words_none_left(uint64_t filtered, uint64_t idle_waits);

#endif
