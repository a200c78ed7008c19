/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STATISTICS_H
#define OPTRAIL_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* What telling change from chance needs. Pure functions of their arguments. */

/* Probability that Student's t of these degrees of freedom is beyond -t or t. (From the incomplete
 * beta function by its continued fraction, Lentz's method; DLMF 8.17.22.) */
double student_two_sided(double t, double freedom);

/* The t that is exceeded, in either direction, with probability `p` (0 < p < 1). */
double student_quantile(double p, double freedom);

/* Holm's step-down adjustment (Holm 1979): p-values of `count` tests become those that hold for all
 * of them together, whatever their dependence. NaN: no test, left as it is. */
void holm_adjust(double *p, size_t count);

/* The block length for a circular block bootstrap of a series, by the rule of Politis and White
 * (2004, with the correction of Patton, Politis and White 2009): the longer, the more its values
 * resemble their neighbours. Between 1 and count / 4. */
size_t block_length(const double *series, size_t count);

/* Random numbers (Vigna's xorshift64*): the same in each run, so that the same data give the same
 * answer. */
struct random {
    uint64_t state; /* not 0 */
};
uint64_t random_below(struct random *random, uint64_t limit);

/* Draws blocks of `length` neighbouring windows, the last one being the first one's neighbour
 * (circular block bootstrap: Politis and Romano 1992; blocks: Kuensch 1989), until there are
 * `count` windows. weights[i]: how often window i was drawn. */
void draw_blocks(struct random *random, size_t count, size_t length, uint32_t *weights);

#endif
