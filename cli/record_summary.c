/* SPDX-License-Identifier: MIT */
#include "record_summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "plural.h"
#include "sample_words.h"

void record_summary_locks(const char *name, struct lock_capture *locks)
{
    const struct lock_capture_counts counts = lock_capture_counts(locks);

    fprintf(stderr,
            "optrail: %s: %" PRIu64 " wait%s at locks, %" PRIu64 " lost, %" PRIu64
            " without a stack\n",
            name, counts.delivered, plural(counts.delivered), counts.lost,
            counts.stacks_full + counts.stacks_late);
    if (counts.sampled_out > 0)
        fprintf(stderr,
                "optrail: %s: waits came faster than they are taken: for %.1f s they were sampled, "
                "%" PRIu64 " stand behind the weights of others\n",
                name, (double)counts.sampled_ns / 1e9, counts.sampled_out);
}

void record_summary_samples(const char *name, struct sample_capture *samples,
                            const struct sample_feed *feed)
{
    const struct sample_counts counts = sample_capture_counts(samples);
    char text[512];

    sample_words_stacks(&counts, text, sizeof(text));
    fprintf(stderr, "optrail: %s: %" PRIu64 " sample%s of threads; %s\n", name, feed->samples,
            plural(feed->samples), text);
    for (size_t i = 0; sample_words_lost(&counts, i, text, sizeof(text)); i++)
        fprintf(stderr, "optrail: %s: %s\n", name, text);
    if (feed->stacks_left_out > 0)
        fprintf(stderr,
                "optrail: %s: %" PRIu64 " stacks are left out: there are too many different ones\n",
                name, feed->stacks_left_out);
}
