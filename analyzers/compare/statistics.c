/* SPDX-License-Identifier: MIT */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAGS 64

/* The continued fraction of the incomplete beta function. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int half = 0; half < 2; half++) {
            double step = half ? odd : even;
            d = 1 + step * d;
            c = 1 + step / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            value *= d * c;
        }
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return value;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double freedom)
{
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double p, double freedom)
{
    double low = 0, high = 1;
    while (student_two_sided(high, freedom) > p && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (student_two_sided(middle, freedom) > p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static int by_value(const void *a, const void *b)
{
    double left = **(double *const *)a, right = **(double *const *)b;
    return left < right ? -1 : left > right;
}

void holm_adjust(double *p, size_t count)
{
    double **order = calloc(count + 1, sizeof(*order)), most = 0;
    size_t tests = 0;
    for (size_t i = 0; order && i < count; i++)
        if (!isnan(p[i]))
            order[tests++] = &p[i];
    if (order && tests > 0)
        qsort(order, tests, sizeof(*order), by_value);
    for (size_t i = 0; i < tests; i++) {
        double adjusted = *order[i] * (double)(tests - i);
        most = adjusted > most ? adjusted : most;
        *order[i] = most < 1 ? most : 1;
    }
    /* without memory: Bonferroni's, which is never less */
    for (size_t i = 0; !order && i < count; i++)
        p[i] = fmin(1, p[i] * (double)count);
    free(order);
}

/* Autocovariances of lags 0 to `lags`. */
static void autocovariances(const double *series, size_t count, size_t lags, double *covariance)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += series[i] / (double)count;
    for (size_t k = 0; k <= lags; k++) {
        covariance[k] = 0;
        for (size_t i = 0; i + k < count; i++)
            covariance[k] += (series[i] - mean) * (series[i + k] - mean) / (double)count;
    }
}

size_t block_length(const double *series, size_t count)
{
    double covariance[MOST_LAGS + 1];
    size_t lags = count / 2 < MOST_LAGS ? count / 2 : MOST_LAGS, most = count / 4;
    if (most < 2)
        return 1;
    autocovariances(series, count, lags, covariance);
    if (!(covariance[0] > 0))
        return 1;
    /* the first lag behind which K_N in a row are not to be told from 0 */
    size_t in_a_row = (size_t)fmax(5, ceil(sqrt(log10((double)count))));
    double limit = 2 * sqrt(log10((double)count) / (double)count);
    size_t m = lags, run = 0;
    for (size_t k = 1; k <= lags && run < in_a_row; k++) {
        run = fabs(covariance[k]) < limit * covariance[0] ? run + 1 : 0;
        if (run == in_a_row)
            m = k - run;
    }
    size_t window = 2 * (m > 0 ? m : 1);
    window = window < lags ? window : lags;
    double spread = 0, long_run = covariance[0];
    for (size_t k = 1; k <= window; k++) {
        double part = (double)k / (double)window;
        double flat_top = part <= 0.5 ? 1 : 2 * (1 - part);
        spread += 2 * flat_top * (double)k * covariance[k];
        long_run += 2 * flat_top * covariance[k];
    }
    if (!(long_run > 0))
        return 1;
    double ratio = spread * spread / (2.0 / 3 * long_run * long_run);
    double length = ceil(cbrt(ratio * (double)count));
    return length < 1 ? 1 : length > (double)most ? most : (size_t)length;
}

uint64_t random_below(struct random *random, uint64_t limit)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return (uint64_t)((unsigned __int128)(random->state * 0x2545f4914f6cdd1dull) * limit >> 64);
}

void draw_blocks(struct random *random, size_t count, size_t length, uint32_t *weights)
{
    memset(weights, 0, count * sizeof(*weights));
    for (size_t drawn = 0; drawn < count;) {
        size_t start = (size_t)random_below(random, count);
        for (size_t i = 0; i < length && drawn < count; i++, drawn++)
            weights[(start + i) % count]++;
    }
}
