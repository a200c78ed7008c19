/* SPDX-License-Identifier: MIT */
#include "usl.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define STEPS  60
#define REFITS 500
#define HUBER  1.345
#define TERMS  3
/* Differences below this are not noise to be weighted down, however small the others are. */
#define SMALLEST_NOISE 0.01

double usl_rate(const struct usl *fit, double depth)
{
    return fit->rate1 * depth /
           (1 + fit->contention * (depth - 1) + fit->coherency * depth * (depth - 1));
}

static void terms_of(double depth, double terms[TERMS])
{
    terms[0] = 1;
    terms[1] = depth - 1;
    terms[2] = depth * (depth - 1);
}

/* Solves the normal equations for the terms of `used` (bit set), by elimination with pivots; the
 * others are 0. False: they have no single solution. */
static bool solve(double matrix[TERMS][TERMS], const double right[TERMS], unsigned used,
                  double solution[TERMS])
{
    double work[TERMS][TERMS + 1];
    size_t index[TERMS], count = 0;
    for (size_t i = 0; i < TERMS; i++)
        if (used >> i & 1)
            index[count++] = i;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++)
            work[i][j] = matrix[index[i]][index[j]];
        work[i][count] = right[index[i]];
    }
    for (size_t i = 0; i < count; i++) {
        size_t pivot = i;
        for (size_t j = i + 1; j < count; j++)
            if (fabs(work[j][i]) > fabs(work[pivot][i]))
                pivot = j;
        if (fabs(work[pivot][i]) <= 1e-12 * fabs(matrix[index[i]][index[i]]))
            return false;
        for (size_t k = 0; k <= count; k++) {
            double other = work[i][k];
            work[i][k] = work[pivot][k];
            work[pivot][k] = other;
        }
        for (size_t j = 0; j < count; j++) {
            double factor = j == i ? 0 : work[j][i] / work[i][i];
            for (size_t k = i; k <= count; k++)
                work[j][k] -= factor * work[i][k];
        }
    }
    memset(solution, 0, TERMS * sizeof(*solution));
    for (size_t i = 0; i < count; i++)
        solution[index[i]] = work[i][count] / work[i][i];
    return true;
}

/* The weighted least squares solution in which no term is negative and the first is above 0: with
 * three terms the sets of those that are 0 can all be tried. */
static bool least_squares(const double *depths, const double *targets, const double *weights,
                          size_t count, double solution[TERMS])
{
    double matrix[TERMS][TERMS] = {{0}}, right[TERMS] = {0}, best = DBL_MAX;
    for (size_t n = 0; n < count; n++) {
        double terms[TERMS];
        terms_of(depths[n], terms);
        for (size_t i = 0; i < TERMS; i++) {
            right[i] += weights[n] * terms[i] * targets[n];
            for (size_t j = 0; j < TERMS; j++)
                matrix[i][j] += weights[n] * terms[i] * terms[j];
        }
    }
    for (unsigned used = 1; used < 1u << TERMS; used += 2) {
        double tried[TERMS], squares = 0;
        if (!solve(matrix, right, used, tried) || tried[0] <= 0 || tried[1] < 0 || tried[2] < 0)
            continue;
        for (size_t n = 0; n < count; n++) {
            double terms[TERMS];
            terms_of(depths[n], terms);
            double difference =
                targets[n] - tried[0] * terms[0] - tried[1] * terms[1] - tried[2] * terms[2];
            squares += weights[n] * difference * difference;
        }
        if (squares < best) {
            best = squares;
            memcpy(solution, tried, TERMS * sizeof(*solution));
        }
    }
    return best < DBL_MAX;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median of the absolute values, as a standard deviation. */
static double spread_of(const double *values, size_t count, double *work)
{
    for (size_t i = 0; i < count; i++)
        work[i] = fabs(values[i]);
    qsort(work, count, sizeof(*work), by_size);
    double middle = (work[(count - 1) / 2] + work[count / 2]) / 2;
    return middle / 0.6745;
}

/* `work`: room for 4 x count. */
static int fit_with(const double *depths, const double *rates, size_t count, double *work,
                    struct usl *fit)
{
    double *targets = work, *weights = work + count, *residuals = work + 2 * count;
    double solution[TERMS], before = 0;
    for (size_t i = 0; i < count; i++) {
        targets[i] = depths[i] / rates[i];
        weights[i] = 1 / (targets[i] * targets[i]);
    }
    for (int step = 0; step < STEPS; step++) {
        if (!least_squares(depths, targets, weights, count, solution))
            return -ENODATA;
        double sum = solution[0] + solution[1] + solution[2];
        if (step > 3 && fabs(sum - before) <= 1e-12 * sum)
            break;
        before = sum;
        for (size_t i = 0; i < count; i++) {
            double terms[TERMS];
            terms_of(depths[i], terms);
            double model = solution[0] * terms[0] + solution[1] * terms[1] + solution[2] * terms[2];
            residuals[i] = log(depths[i] / rates[i]) - log(model);
            targets[i] = model * (1 + residuals[i]);
            weights[i] = 1 / (model * model);
        }
        double bound = HUBER * fmax(spread_of(residuals, count, work + 3 * count), SMALLEST_NOISE);
        for (size_t i = 0; i < count; i++)
            if (fabs(residuals[i]) > bound)
                weights[i] *= bound / fabs(residuals[i]);
    }
    *fit = (struct usl){1 / solution[0], solution[1] / solution[0], solution[2] / solution[0]};
    return 0;
}

int usl_fit(const double *depths, const double *rates, size_t count, struct usl *fit)
{
    if (count < USL_POINTS)
        return -ENODATA;
    double *work = calloc(4 * count, sizeof(*work));
    if (!work)
        return err_no_memory();
    int result = fit_with(depths, rates, count, work, fit);
    free(work);
    return result;
}

double student_975(size_t degrees)
{
    static const double quantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                       2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    size_t known = sizeof(quantiles) / sizeof(quantiles[0]);
    if (degrees == 0)
        return quantiles[0];
    return degrees <= known ? quantiles[degrees - 1] : 1.96 + 2.4 / (double)degrees;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = *state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    return mixed ^ mixed >> 31;
}

static void percentiles(double *values, size_t count, double *low, double *high)
{
    qsort(values, count, sizeof(*values), by_size);
    *low = values[count / 40];
    *high = values[count - 1 - count / 40];
}

int usl_intervals(const double *depths, size_t count, const double *rates, const struct usl *fit,
                  struct usl_interval *interval)
{
    double *work = calloc(6 * count + 3 * (size_t)REFITS, sizeof(*work));
    double *residuals = work + 4 * count, *drawn = work + 5 * count, *refits = work + 6 * count;
    size_t done = 0, degrees = count > TERMS ? count - TERMS : 1;
    double wider = sqrt((double)count / (double)degrees) * student_975(degrees) / 1.96;
    uint64_t random = 1;
    if (!work)
        return err_no_memory();
    for (size_t i = 0; i < count; i++)
        residuals[i] = wider * log(rates[i] / usl_rate(fit, depths[i]));
    for (int i = 0; i < REFITS; i++) {
        struct usl again;
        for (size_t n = 0; n < count; n++)
            drawn[n] = usl_rate(fit, depths[n]) * exp(residuals[next_random(&random) % count]);
        if (fit_with(depths, drawn, count, work, &again) < 0)
            continue;
        refits[done] = again.rate1;
        refits[REFITS + done] = again.contention;
        refits[2 * (size_t)REFITS + done] = again.coherency;
        done++;
    }
    *interval = (struct usl_interval){*fit, *fit};
    if (done >= REFITS / 2) {
        percentiles(refits, done, &interval->low.rate1, &interval->high.rate1);
        percentiles(refits + REFITS, done, &interval->low.contention, &interval->high.contention);
        percentiles(refits + 2 * (size_t)REFITS, done, &interval->low.coherency,
                    &interval->high.coherency);
    }
    free(work);
    return 0;
}
