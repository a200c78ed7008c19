/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TAIL_WORDS_H
#define OPTRAIL_TAIL_WORDS_H

#include <stddef.h>

#include "report.h"

/* Sentences about slow ops, for people; the text form and the page have the same. Each writes into
 * `text` (TAIL_WORDS bytes are enough), not escaped, and returns it. */
enum { TAIL_WORDS = 1024 };

char *tail_words(const struct report_tail *tail, char *text, size_t size);
char *tail_words_population(const struct report_population *row, char *text, size_t size);
char *tail_words_stall(const struct report_stall *stall, char *text, size_t size);
char *tail_words_rhythm(const struct report_rhythm *rhythm, char *text, size_t size);
/* "1e-07", "< 1e-9". */
char *tail_words_chance(double probability, char *text, size_t size);

#endif
