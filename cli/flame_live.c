/* SPDX-License-Identifier: MIT */
#include "flame_live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"
#include "err.h"
#include "flame_samples.h"
#include "interrupt.h"
#include "sample_capture.h"
#include "sample_words.h"

#define ASK_EVERY_NS 50000000
/* Ticks of clocks are few; to wake up for them is what costs. */
#define ASK_EVERY_NS_ON_CPU 100000000
/* Until then most files that stacks go through were met, and their tables made. */
#define BEGINNING_NS 1000000000ull
/* Processes that are named when they have ended. */
#define GONE_SHOWN 8

struct live {
    const struct flame_live_options *options; /* weak */
    struct flame_fold *fold;
    struct flame_tree *tree;
    struct sample_capture *capture;
    uint32_t kinds;
    bool idle;
    uint64_t idle_waits, idle_ns, cut;
    /* what optrail itself used: CPU time until the beginning was over, and in the time after it */
    uint64_t beginning_ns, after_ns, after_cpu_ns;
};

static int name_of(struct flame_names *names, const char *text, uint32_t *name)
{
    return text && *text ? flame_name(names, text, strlen(text), name) : 0;
}

/* The kernel's frames stand on those of user space. */
static int frames_of(struct live *live, const struct sample *sample, uint32_t *frames,
                     size_t *count)
{
    struct flame_names *names = &live->tree->names;
    uint32_t kernel[FLAME_MAX_FRAMES];
    bool cut = false, cut_kernel = false;
    int users = sample->user ? flame_frames_of_text(names, sample->user, frames, &cut) : 0;
    if (users < 0)
        return users;
    int inner =
        sample->kernel ? flame_frames_of_text(names, sample->kernel, kernel, &cut_kernel) : 0;
    if (inner < 0)
        return inner;
    if (users + inner > (int)FLAME_MAX_FRAMES) {
        inner = (int)FLAME_MAX_FRAMES - users;
        cut = true;
    }
    memcpy(frames + users, kernel, (size_t)inner * sizeof(*frames));
    *count = (size_t)users + (size_t)inner;
    live->cut += cut || cut_kernel ? sample->count : 0;
    return 0;
}

static int take(void *context, const struct sample *sample)
{
    struct live *live = context;
    struct flame_names *names = &live->tree->names;
    uint32_t frames[FLAME_MAX_FRAMES];
    struct flame_sample folded = {.frames = frames,
                                  .kind = flame_kind_of_sample[sample->kind],
                                  .begin_ns = sample->begin_ns,
                                  .value_ns = sample->value_ns,
                                  .count = sample->count};
    if (!(live->kinds >> folded.kind & 1))
        return 0;
    if (sample_reason_rows[sample->reason].idle && !live->idle) {
        live->idle_waits += sample->count;
        live->idle_ns += sample->value_ns;
        return 0;
    }
    int result = frames_of(live, sample, frames, &folded.frame_count);
    if (result == 0)
        result = name_of(names, sample->thread, &folded.attributes[FLAME_BY_THREAD]);
    if (result == 0)
        result = name_of(names, sample_reason_rows[sample->reason].text,
                         &folded.attributes[FLAME_BY_REASON]);
    return result == 0 ? flame_fold_take(live->fold, &folded) : result;
}

/* The processes: by their numbers whatever they are, else the daemons. */
static int choose(const struct target_options *chosen, pid_t **pids, size_t *count)
{
    struct target *targets = NULL;
    size_t found = 0;
    int result = target_options_check(chosen);
    if (result == 0 && chosen->pids.count == 0)
        result = target_options_choose(chosen, &targets, &found);
    if (result < 0)
        return result;
    *pids = calloc(found + chosen->pids.count, sizeof(**pids));
    for (size_t i = 0; *pids && i < found; i++)
        (*pids)[(*count)++] = targets[i].pid;
    free(targets);
    for (size_t i = 0; *pids && i < chosen->pids.count; i++) {
        pid_t pid = (pid_t)strtol(chosen->pids.words[i].text, NULL, 10);
        bool there = false;
        for (size_t j = 0; j < *count; j++)
            there = there || (*pids)[j] == pid;
        if (!there)
            (*pids)[(*count)++] = pid;
    }
    return *pids ? 0 : err_no_memory();
}

static uint64_t own_cpu_ns(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void look_at_cost(struct live *live, uint64_t passed_ns)
{
    if (passed_ns < BEGINNING_NS)
        return;
    uint64_t used = own_cpu_ns();
    if (live->beginning_ns == 0)
        live->beginning_ns = used;
    live->after_ns = passed_ns - BEGINNING_NS;
    live->after_cpu_ns = used - live->beginning_ns;
}

static int watch(struct live *live)
{
    const volatile int *stop = interrupt_install();
    const struct timespec pause = {.tv_nsec = live->kinds == 1u << FLAME_cpu ? ASK_EVERY_NS_ON_CPU
                                                                             : ASK_EVERY_NS};
    uint64_t begin = monotonic_ns(), length = (uint64_t)(live->options->seconds * 1e9);
    int result = 0;
    flame_fold_origin(live->fold, 0, begin);
    while (result == 0 && !*stop && !sample_capture_ended(live->capture) &&
           (length == 0 || monotonic_ns() - begin < length)) {
        nanosleep(&pause, NULL);
        result = sample_capture_poll(live->capture, take, live);
        look_at_cost(live, monotonic_ns() - begin);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r%.0f s ", (double)(monotonic_ns() - begin) / 1e9);
    }
    if (isatty(STDERR_FILENO))
        fputs("\r            \r", stderr);
    return result == 0 ? sample_capture_finish(live->capture, take, live) : result;
}

/* Who did not live as long as the sampling. False: all did. */
static bool say_gone(const struct live *live, char *text, size_t size)
{
    pid_t pids[GONE_SHOWN];
    size_t count = sample_capture_gone(live->capture, pids, GONE_SHOWN);
    snprintf(text, size, "%s", count > 1 ? "processes " : "process ");
    for (size_t i = 0; i < count && i < GONE_SHOWN; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%d", i > 0 ? ", " : "", pids[i]);
    }
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s %s ended before the sampling did",
             count > GONE_SHOWN ? ", ..." : "", count > 1 ? "have" : "has");
    return count > 0;
}

static int note_counts(const struct live *live)
{
    const struct sample_counts counts = sample_capture_counts(live->capture);
    struct flame_tree *tree = live->tree;
    char text[512];
    int result = say_gone(live, text, sizeof(text))
                     ? flame_tree_note(tree, "%s: what it shows is the time until then", text)
                     : 0;
    sample_words_stacks(&counts, text, sizeof(text));
    if (result == 0)
        result = flame_tree_note(tree, "%s", text);
    for (size_t i = 0; result == 0 && sample_words_lost(&counts, i, text, sizeof(text)); i++)
        result = flame_tree_note(tree, "%s", text);
    if (result == 0 && live->cut > 0)
        result =
            flame_tree_note(tree,
                            "%" PRIu64 " samples had more frames than there is room for: outer "
                            "ones, or the kernel's, are left out",
                            live->cut);
    if (result == 0 && live->idle_waits > 0)
        result = flame_tree_note(
            tree, "%s", sample_words_idle(live->idle_waits, live->idle_ns, text, sizeof(text)));
    if (result == 0 && live->after_ns >= BEGINNING_NS)
        result = flame_tree_note(tree,
                                 "optrail used %.2f s of CPU until its first second was over, then "
                                 "%.1f %% of a core (its programs in the kernel not counted)",
                                 (double)live->beginning_ns / 1e9,
                                 100.0 * (double)live->after_cpu_ns / (double)live->after_ns);
    return result;
}

static int finish(struct live *live)
{
    int result = flame_fold_finish(live->fold);
    struct flame_fold_counts counts = flame_fold_counts(live->fold);
    if (result < 0)
        return result;
    if (counts.taken > 0)
        return note_counts(live);
    if (counts.filtered + live->idle_waits > 0)
        return sample_words_none_left(counts.filtered, live->idle_waits);
    char text[512];
    bool gone = say_gone(live, text, sizeof(text));
    return err_set(ENODATA, "there are no samples: no thread of it %s in this time%s%s",
                   live->kinds >> FLAME_cpu & 1 ? "was seen on a CPU" : "left a CPU",
                   gone ? "; " : "", gone ? text : "");
}

static int open_all(struct live *live, const struct flame_request *request, const pid_t *pids,
                    size_t count)
{
    struct flame_options options = request->options;
    const struct sample_capture_options capturing = {
        .pids = pids,
        .pid_count = count,
        .rate = live->options->rate,
        .on_cpu = live->kinds >> FLAME_cpu & 1,
        .off_cpu = live->kinds & (1u << FLAME_offcpu | 1u << FLAME_runnable)};
    options.kinds = live->kinds;
    int result = flame_fold_new(&options, 1, &live->fold, &live->tree);
    return result < 0 ? result : sample_capture_open(&capturing, &live->capture);
}

int flame_run_live(const struct flame_request *request, const struct flame_live_options *options,
                   const struct flame_renderer *renderer,
                   int (*deliver)(const struct flame_renderer *renderer,
                                  const struct flame_result *made, int result, FILE *said))
{
    struct live live = {.options = options,
                        .idle = request->idle,
                        .kinds = request->options.kinds ? request->options.kinds : 1u << FLAME_cpu};
    pid_t *pids = NULL;
    size_t count = 0;
    /* where nothing is recorded, no op has a path */
    int result =
        request->path ? err_set(EINVAL, "--path is for traces, and where ops are drawn") : 0;
    if (result == 0)
        result = choose(options->targets, &pids, &count);
    if (result < 0) {
        free(pids);
        return result;
    }
    result = open_all(&live, request, pids, count);
    if (result == 0)
        result = watch(&live);
    if (result == 0)
        result = finish(&live);
    if (result == 0) {
        const struct flame_result made = {.what = flame_what(live.kinds), .tree = live.tree};
        result = deliver(renderer, &made, 0, stderr);
    }
    sample_capture_close(live.capture);
    flame_fold_free(live.fold);
    flame_tree_free(live.tree);
    free(pids);
    /* wrong use was ruled out before */
    return result == -EINVAL ? -EBADMSG : result;
}
