/* SPDX-License-Identifier: MIT */
#include "sample_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "plural.h"

void sample_words_stacks(const struct sample_counts *counts, char *text, size_t size)
{
    uint64_t all = counts->no_stack;
    for (int i = 0; i < UNWIND_END_COUNT; i++)
        all += counts->ended[i];
    snprintf(text, size, "stacks: %" PRIu64 " of %" PRIu64 " %s", counts->ended[UNWIND_COMPLETE],
             all, unwind_end_words[UNWIND_COMPLETE]);
    for (int i = 0; i < UNWIND_END_COUNT; i++) {
        size_t used = strlen(text);
        if (i != UNWIND_COMPLETE && counts->ended[i])
            snprintf(text + used, size - used, ", %" PRIu64 " %s", counts->ended[i],
                     unwind_end_words[i]);
    }
    size_t used = strlen(text);
    if (counts->no_stack)
        snprintf(text + used, size - used, ", %" PRIu64 " without a stack", counts->no_stack);
}

bool sample_words_lost(const struct sample_counts *counts, size_t index, char *text, size_t size)
{
    const struct {
        uint64_t value;
        const char *text;
    } rows[] = {
        {counts->lost, "samples were lost: there was no room in the ring"},
        {counts->returns_unseen, "times it was not seen that a thread had a CPU again: how long it "
                                 "wanted one is not counted"},
        {counts->threads_full, "times a thread left the CPU there was no room to remember it"},
        {counts->stacks_full, "waits have no stack: there are too many different ones"},
        {counts->stacks_late, "times a new stack was not copied, for others came first"},
        {counts->stacks_unreadable, "stacks could not be read"},
        {counts->unfinished, "waits went on when the capture ended: they count up to then"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].value > 0 && index-- == 0) {
            snprintf(text, size, "%" PRIu64 " %s", rows[i].value, rows[i].text);
            return true;
        }
    if (counts->sampled && index-- == 0) {
        snprintf(text, size, "there were so many short waits that some stand for others like them");
        return true;
    }
    if (counts->kernel_hidden && index == 0) {
        snprintf(text, size, "the kernel hides the names of its functions (kernel.kptr_restrict)");
        return true;
    }
    return false;
}

const char *sample_words_idle(uint64_t waits, uint64_t ns, char *text, size_t size)
{
    snprintf(text, size,
             "%" PRIu64
             " waits of threads that had nothing to do (poll, condition variables, %.1f s "
             "in all) are left out: --idle shows them",
             waits, (double)ns / 1e9);
    return text;
}

int sample_words_none_left(uint64_t filtered, uint64_t idle_waits)
{
    if (filtered > 0)
        return err_set(ENODATA, "none of the %" PRIu64 " sample%s is of what was asked for",
                       filtered, plural(filtered));
    return err_set(ENODATA,
                   "all %" PRIu64 " waits are of threads that had nothing to do: --idle shows them",
                   idle_waits);
}
