/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALE_WORDS_H
#define OPTRAIL_SCALE_WORDS_H

#include "scaling.h"

/* Adds the sentences that the figures of a judged series stand for. */
int scale_words(struct scaling_series *series);

/* Adds the sentence about series that are flat at one and the same rate. */
int scale_words_common(struct scaling *scaling, const char *group, const char *names,
                       const struct scaling_figure *demand_ns);

#endif
