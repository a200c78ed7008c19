/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_USL_H
#define OPTRAIL_USL_H

#include <stddef.h>

/*
 * The universal scalability law (Gunther, "Guerrilla Capacity Planning", 2007, chapter 5):
 *
 *   X(N) = rate1 N / (1 + contention (N - 1) + coherency N (N - 1))
 *
 * N / X is linear in 1/rate1, contention/rate1 and coherency/rate1. So the fit is a sequence of
 * weighted linear ones (Gauss-Newton steps on the logarithms of the rates, so that relative
 * differences count), with Huber's weights (1964) against single bad points. Neither contention nor
 * coherency becomes negative.
 */
struct usl {
    double rate1;
    double contention;
    double coherency;
};

/* Of each parameter, and of the rates that follow: 95 %. */
struct usl_interval {
    struct usl low, high;
};

/* Needs at least this many points. */
#define USL_POINTS 4

/* Fits; all depths and rates are above 0. -ENODATA without a message when there are too few points
 * or nothing can be fitted. */
int usl_fit(const double *depths, const double *rates, size_t count, struct usl *fit);

double usl_rate(const struct usl *fit, double depth);

/* 95 % intervals by the residual bootstrap (Efron 1979), percentiles of 500 fits; the residuals
 * are widened for the few degrees of freedom. The same data give the same intervals. 0 or
 * -ENOMEM with the message. */
int usl_intervals(const double *depths, size_t count, const double *rates, const struct usl *fit,
                  struct usl_interval *interval);

/* Student's t, its 97.5 % quantile. */
double student_975(size_t degrees);

#endif
