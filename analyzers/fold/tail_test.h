/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TAIL_TEST_H
#define OPTRAIL_TAIL_TEST_H

#include <stddef.h>
#include <stdint.h>

/* The probability that of `drawn` ops out of `all`, of which `slow` are slow, at least `hits` are
 * slow by chance: Fisher's exact test, one-sided (the hypergeometric distribution's upper tail). */
double tail_probability(uint64_t all, uint64_t slow, uint64_t drawn, uint64_t hits);

/* Corrects the probability that is the `rank`-th smallest (from 1) of so many tests, after
 * Benjamini and Hochberg (1995): what is called a finding below q is wrong in at most the part q of
 * the findings. At most 1. */
double tail_corrected(double probability, size_t rank, size_t tests);

#endif
