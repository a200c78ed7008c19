/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_VERDICT_WORDS_H
#define OPTRAIL_VERDICT_WORDS_H

#include <stdbool.h>

#include "blame.h"
#include "predict.h"

/* The verdict in words: what is said of each class of causes, and what is normal for it. */
#define VERDICT_EVIDENCE 6
#define VERDICT_KNOBS    8

struct verdict_words {
    char text[1024];
    char *knobs[VERDICT_KNOBS + 1];       /* NULL-terminated; weak: of the report */
    char *evidence[VERDICT_EVIDENCE + 1]; /* NULL-terminated; point into `sentences` */
    char sentences[VERDICT_EVIDENCE][320];
};

/* Whether the cause takes more of these ops' time than such a thing does where all is well. */
bool verdict_beyond_norm(const struct report *report, const struct report_op *op,
                         const struct blame_cause *cause);

void verdict_words(const struct report *report, const struct report_op *op,
                   const struct blame_cause *cause, const struct prediction *prediction,
                   struct verdict_words *words);

/* The same where nothing stands out. */
void verdict_words_nothing(const struct report *report, const struct report_op *op,
                           struct verdict_words *words);

#endif
