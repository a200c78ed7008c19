/* SPDX-License-Identifier: MIT */
#include "tail_test.h"

#include <math.h>

static double log_choose(uint64_t from, uint64_t choose)
{
    double n = (double)from, k = (double)choose;
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double tail_probability(uint64_t all, uint64_t slow, uint64_t drawn, uint64_t hits)
{
    uint64_t most = slow < drawn ? slow : drawn;
    if (hits == 0 || all == 0 || drawn > all || slow > all)
        return 1;
    if (hits > most)
        return 0;
    double whole = log_choose(all, drawn), sum = 0;
    for (uint64_t i = hits; i <= most; i++) {
        if (drawn - i > all - slow)
            continue;
        double term = exp(log_choose(slow, i) + log_choose(all - slow, drawn - i) - whole);
        sum += term;
        /* beyond the mean the terms only fall */
        if (term < sum * 1e-12 && (double)i * (double)all > (double)slow * (double)drawn)
            break;
    }
    return sum < 1 ? sum : 1;
}

double tail_corrected(double probability, size_t rank, size_t tests)
{
    double corrected = probability * (double)tests / (double)rank;
    return corrected < 1 ? corrected : 1;
}
