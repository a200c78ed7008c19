/* SPDX-License-Identifier: MIT */
#include "flame_recorded.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_known.h"
#include "flame_samples.h"
#include "interrupt.h"
#include "record.h"
#include "temporary_trace.h"

bool flame_needs_events(const struct flame_request *request, const struct flame_renderer *renderer)
{
    const struct flame_options *options = &request->options;
    bool needs = options->op || options->stage || request->tail > 0 || request->wakers ||
                 renderer->timeline || options->kinds & (1u << FLAME_lock | 1u << FLAME_stage);
    for (size_t i = 0; i < options->by_count; i++)
        needs = needs || options->by[i] == FLAME_BY_OP || options->by[i] == FLAME_BY_STAGE ||
                options->by[i] == FLAME_BY_WAKER;
    return needs;
}

static int draw(const struct flame_request *request, const struct flame_renderer *renderer,
                size_t timeline_ops, const struct temporary_trace *trace, char *recorded,
                int (*deliver)(const struct flame_renderer *renderer,
                               const struct flame_result *made, int result, FILE *said))
{
    struct flame_request drawn = *request;
    drawn.inputs = &recorded;
    drawn.input_count = 1;
    drawn.just_recorded = true;
    fprintf(stderr, "optrail: drawn from a trace of %.1f MB, which is removed again\n",
            (double)temporary_trace_bytes(trace) / 1e6);
    /* the signal that ended the recording has done what it was to do */
    interrupt_met();
    return flame_run_traces(&drawn, renderer, timeline_ops, deliver);
}

/* What no op can be called is said before anything is recorded. */
static int check_names(const struct flame_request *request, const struct target_options *chosen)
{
    struct target *targets = NULL;
    size_t count = 0;
    int result = target_options_check(chosen);
    if (result < 0 || (!request->options.op && !request->options.stage))
        return result;
    result = target_options_choose(chosen, &targets, &count);
    if (result == 0)
        result = flame_check_known(request, targets, count);
    else if (result == -EINVAL)
        result = -EBADMSG; /* what was asked for is no wrong use */
    free(targets);
    return result;
}

/* The message must not name what is gone when it is read. */
static void take_path_out(int result, const char *path)
{
    char message[1024];
    snprintf(message, sizeof(message), "%s", err_message());
    char *begin = strstr(message, path);
    if (!begin)
        return;
    const char *end = begin + strcspn(begin, ": ");
    *begin = '\0';
    err_set(-result, "%sthe events, recorded until they are drawn (TMPDIR names another place)%s",
            message, end);
}

int flame_run_recorded(const struct flame_request *request,
                       const struct flame_live_options *options,
                       const struct flame_renderer *renderer, size_t timeline_ops,
                       int (*deliver)(const struct flame_renderer *renderer,
                                      const struct flame_result *made, int result, FILE *said))
{
    struct flame_request asked = *request;
    struct temporary_trace trace;
    char recorded[PATH_MAX];
    if (!asked.options.kinds && renderer->tree)
        asked.options.kinds = 1u << FLAME_cpu;
    int result = check_names(&asked, options->targets);
    if (result == 0)
        result = temporary_trace_make(&trace);
    if (result < 0)
        return result;
    snprintf(recorded, sizeof(recorded), "%s/trace", trace.path);
    const struct record_options recording = {
        .targets = *options->targets,
        .seconds = options->seconds,
        .trace = recorded,
        .temporary = true,
        .samples = flame_sample_kinds(asked.options.kinds),
        .sample_rate = options->rate,
        .locks = renderer->timeline || asked.options.kinds >> FLAME_lock & 1,
    };
    result = record_bpf(&recording);
    if (result == -ENOSPC)
        result =
            err_set(ENOSPC, "the disk is full where the events are recorded until they are drawn: "
                            "nothing is drawn (TMPDIR names another place)");
    else if (result < 0)
        take_path_out(result, trace.path);
    if (result == 0)
        result = draw(&asked, renderer, timeline_ops, &trace, recorded, deliver);
    temporary_trace_remove(&trace);
    return result == -EINVAL ? -EBADMSG : result;
}
