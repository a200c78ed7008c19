/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALE_JUDGE_H
#define OPTRAIL_SCALE_JUDGE_H

#include "scaling.h"

/*
 * What a sweep means.
 *
 * Ceiling: the asymptotic bounds of a closed system (Denning and Buzen 1978; Lazowska et al.,
 * "Quantitative System Performance", 1984, chapter 5): with N ops in flight throughput is at most
 * N / R, R being the latency without waiting, and at most 1 / D, D being what an op needs of the
 * busiest resource. The two meet at the knee. Where throughput stays the same from one and a half
 * times the knee on, that is 1 / D, and D is the serial stage.
 *
 * Law: the USL (usl.h), from the depth on at which an op costs least: some machines speed up first,
 * because CPUs wake up or work is batched, which no scalability law describes.
 *
 * Little's law (1961) holds whatever the system is: depth = rate x latency. A point against it is a
 * wrong figure.
 */

/* Sorts the points and fills in the rest of the series. */
int scale_judge(struct scaling_series *series);

/* Says what several series have in common: one serial stage for all. */
int scale_judge_together(struct scaling *scaling);

#endif
