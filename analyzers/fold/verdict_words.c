/* SPDX-License-Identifier: MIT */
#include "verdict_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cpu_blame.h"
#include "plural.h"

/* A lock that is held for this part of the time is a ceiling, however short it is held. */
#define BUSY_LOCK 0.6
/* What is predicted beyond so many times what was seen is no more than that. */
#define FAR_AWAY 20.0
/* Of CPUs that are busy for this part of the time others have all but this part ... */
#define CPUS_BUSY      0.9
#define OTHERS_HAVE_IT 0.5
/* ... and the daemon waits for one for so many times what it runs: it is starved. */
#define STARVED 2.0
/* From this part of the time in which they want a CPU, threads' waiting for one is evidence. */
#define WORTH_TELLING 0.1

static double mean_of(const struct blame_cause *cause)
{
    return cause->stage && cause->stage->count
               ? (double)cause->stage->total_ns / (double)cause->stage->count
               : 0;
}

/* What an op spends there itself when all is well is less than this, ns. Rows of the classes. */
static const double norms[BLAME_CLASS_COUNT] = {
    [BLAME_LOCK] = 200e3,      /* waiting for a lock */
    [BLAME_THROTTLE] = 200e3,  /* waiting for room */
    [BLAME_DEVICE] = 500e3,    /* a write to a solid-state disk, with its sync */
    [BLAME_NETWORK] = 500e3,   /* there and back within a rack, with what the peer does */
    [BLAME_WORK] = 200e3,      /* computing */
    [BLAME_QUEUE] = 300e3,     /* a thread that is awakened */
    [BLAME_ALLOCATOR] = 100e3, /* waiting inside malloc and free */
    [BLAME_UNATTRIBUTED] = 200e3, [BLAME_CPU] = 200e3, /* waiting for one, an op */
};

/* Others have the CPUs, and it waits for one far longer than it runs: however little that is an op,
 * of ops that are short anyway. */
static bool is_starved(const struct report_cpu *cpu)
{
    double all = cpu->busy * cpu->seconds * 1e9 * (double)cpu->cpus;

    return cpu->known && cpu->busy >= CPUS_BUSY && (double)cpu->run_ns < OTHERS_HAVE_IT * all &&
           (double)cpu->wait_ns > STARVED * (double)cpu->run_ns;
}

bool verdict_beyond_norm(const struct report *report, const struct report_op *op,
                         const struct blame_cause *cause)
{
    const struct report_lock *lock = cause->lock;
    double norm = norms[cause->class], count = op->count ? (double)op->count : 1;
    switch (cause->class) {
    case BLAME_LOCK:
        if (lock && lock->busy >= BUSY_LOCK)
            return true;
        return lock ? lock->wait.mean >= norm : mean_of(cause) >= norm;
    case BLAME_ALLOCATOR:
        return lock && (double)lock->wait_total_ns / count >= norm;
    case BLAME_QUEUE:
        return mean_of(cause) * (cause->queue ? cause->queue->idle_share : 1) >= norm;
    case BLAME_THROTTLE:
        return lock && !cause->stage ? lock->wait.mean >= norm : mean_of(cause) >= norm;
    case BLAME_CPU:
        return cause->share * op->latency.mean >= norm || is_starved(&report->cpu);
    case BLAME_UNATTRIBUTED:
        return (double)op->unattributed_ns / count >= norm;
    default:
        return mean_of(cause) >= norm;
    }
}

static char *duration(double ns, char *out, size_t size)
{
    const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "µs" : ns < 1e9 ? "ms" : "s";
    double value = ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9;
    snprintf(out, size, value < 10 ? "%.2f %s" : value < 100 ? "%.1f %s" : "%.0f %s", value, unit);
    return out;
}

/* "4,021", rounded to two digits: these are estimates. */
static char *about(double value, char *out, size_t size)
{
    double step = 1;
    while (value / step >= 100)
        step *= 10;
    uint64_t rounded = (uint64_t)(value / step + 0.5) * (uint64_t)step;
    if (rounded >= 1000)
        snprintf(out, size, "%" PRIu64 ",%03" PRIu64, rounded / 1000, rounded % 1000);
    else
        snprintf(out, size, "%" PRIu64, rounded);
    return out;
}

static const char *holder_of(const struct report_lock *lock)
{
    for (size_t i = 0; i < lock->holder_count; i++)
        if (strncmp(lock->holders[i].name, "lock:", 5) != 0 &&
            strcmp(lock->holders[i].name, "elsewhere") != 0)
            return lock->holders[i].name;
    return NULL;
}

/* What the cause is, as a clause behind "N % of the time goes to". */
static size_t describe_lock(const struct blame_cause *cause, char *text, size_t size)
{
    const struct report_lock *lock = cause->lock;
    char hold[32];
    const char *meaning = lock && *lock->member                 ? lock->member
                          : cause->stage && *cause->stage->text ? cause->stage->text
                                                                : "";
    size_t used = (size_t)snprintf(text, size, "the lock %s%s%s%s", lock ? lock->name : cause->name,
                                   *meaning ? " (" : "", meaning, *meaning ? ")" : "");
    if (!lock || used >= size)
        return used;
    const char *holder = holder_of(lock);
    if (lock->hold.count > 0 && lock->busy > 0)
        used += (size_t)snprintf(text + used, size - used,
                                 ". It is held %.0f %% of the time, %s at a time%s%s",
                                 100 * lock->busy, duration(lock->hold.mean, hold, sizeof(hold)),
                                 holder ? ", by " : "", holder ? holder : "");
    else if (lock->busy > 0)
        used +=
            (size_t)snprintf(text + used, size - used, ". It is waited for %.0f %% of the time%s%s",
                             100 * lock->busy, holder ? ", held by " : "", holder ? holder : "");
    return used;
}

static size_t describe_cpu(const struct report *report, char *text, size_t size)
{
    char facts[256];
    cpu_blame_words(report, facts, sizeof(facts));
    return (size_t)snprintf(text, size, "waiting for a CPU: %s", facts);
}

static size_t describe_stage(const struct blame_cause *cause, char *text, size_t size)
{
    static const char *const kinds[BLAME_CLASS_COUNT] = {[BLAME_THROTTLE] = "the throttle ",
                                                         [BLAME_QUEUE] = "",
                                                         [BLAME_WORK] = "",
                                                         [BLAME_DEVICE] = "",
                                                         [BLAME_NETWORK] = "",
                                                         [BLAME_ALLOCATOR] = "the lock "};
    const struct report_stage *stage = cause->stage;
    const char *kind = kinds[cause->class] ? kinds[cause->class] : "";
    if (!stage)
        return (size_t)snprintf(text, size, "%s%s", kind, cause->name);
    return (size_t)snprintf(text, size, "%s%s: %s", kind, stage->name,
                            *stage->text ? stage->text : stage->kind);
}

/* The number of the stage with the most time but for `except`; op->stage_count: none. */
static size_t largest_stage(const struct report_op *op, size_t except)
{
    size_t most = op->stage_count;
    for (size_t i = 0; i < op->stage_count; i++)
        if (i != except &&
            (most == op->stage_count || op->stages[i].share > op->stages[most].share))
            most = i;
    return most;
}

/* Where the ops are while it goes to the cause: the stages that have most of it. */
static void evidence_stages(const struct report_op *op, char *text, size_t size)
{
    size_t used = 0, before = op->stage_count;
    for (int i = 0; i < 2; i++) {
        size_t most = largest_stage(op, before);
        before = most;
        if (most < op->stage_count && op->stages[most].share >= 0.05 && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%.0f %% %s",
                                 used ? ", " : "where the ops are: ", 100 * op->stages[most].share,
                                 op->stages[most].name);
    }
    if (used == 0)
        snprintf(text, size, "no stage has much of it");
}

static void evidence_queue(const struct report_queue *queue, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size,
                                   "the %" PRIu64 " thread%s behind %s %s busy %.0f %% of the time",
                                   queue->servers, queue->servers == 1 ? "" : "s", queue->stage,
                                   queue->servers == 1 ? "is" : "are", 100 * queue->busy);
    for (size_t i = 0; i < queue->part_count && i < 3 && used < size; i++) {
        bool lock = strncmp(queue->parts[i].name, "lock:", 5) == 0;
        if (queue->parts[i].share < 0.05)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s%.0f %% %s%s", i ? ", " : ": ",
                                 100 * queue->parts[i].share, lock ? "waiting for " : "",
                                 queue->parts[i].name + (lock ? 5 : 0));
    }
}

static const struct report_queue *queue_of(const struct report *report, const char *stage)
{
    for (size_t i = 0; i < report->queue_count; i++)
        if (strcmp(report->queues[i].stage, stage) == 0)
            return &report->queues[i];
    return NULL;
}

static void add_evidence(const struct report *report, const struct report_op *op,
                         const struct blame_cause *cause, struct verdict_words *words)
{
    size_t count = 0, size = sizeof(words->sentences[0]);
    char low[32], high[32];
    evidence_stages(op, words->sentences[count++], size);
    for (size_t i = 0; i < op->stage_count && count < 4; i++) {
        const struct report_queue *queue =
            op->stages[i].share >= 0.1 ? queue_of(report, op->stages[i].name) : NULL;
        if (queue && queue->servers > 0)
            evidence_queue(queue, words->sentences[count++], size);
    }
    const struct report_lock *lock = cause->lock;
    if (lock)
        snprintf(words->sentences[count++], size,
                 "%s: %" PRIu64
                 " wait%s of %s on average; busy %.1f %% to %.1f %% of the time (95 %% "
                 "confidence)",
                 lock->name, lock->waits, plural(lock->waits),
                 duration(lock->wait.mean, low, sizeof(low)), 100 * lock->busy_low,
                 100 * lock->busy_high);
    if (cpu_waiting(report) >= WORTH_TELLING && count < VERDICT_EVIDENCE)
        cpu_blame_words(report, words->sentences[count++], size);
    if (op->latency.p99 && count < VERDICT_EVIDENCE)
        snprintf(words->sentences[count++], size, "these ops take %s at p50, %s at p99",
                 duration((double)op->latency.p50, low, sizeof(low)),
                 duration((double)op->latency.p99, high, sizeof(high)));
    for (size_t i = 0; i < count; i++)
        words->evidence[i] = words->sentences[i];
}

static void add_knobs(const struct report_stage *stage, struct verdict_words *words, size_t *count)
{
    for (char **knob = stage->knobs; knob && *knob && *count < VERDICT_KNOBS; knob++) {
        bool known = false;
        for (size_t i = 0; i < *count; i++)
            known |= strcmp(words->knobs[i], *knob) == 0;
        if (!known)
            words->knobs[(*count)++] = *knob;
    }
}

/* Whether a verdict on these ops has the sentence already. */
static bool is_said(const struct report *report, const struct report_op *op, const char *sentence)
{
    for (size_t i = 0; i < report->verdict_count; i++)
        if (strcmp(report->verdicts[i].type, op->type) == 0 &&
            strstr(report->verdicts[i].text, sentence))
            return true;
    return false;
}

/* What makes the slowest ops slow may be another stage than the one that is large on average. */
static void describe_tail(const struct report *report, const struct report_op *op, char *text,
                          size_t size)
{
    const struct report_stage *slowest = NULL, *largest = NULL;
    for (size_t i = 0; i < op->stage_count; i++) {
        if (!slowest || op->stages[i].tail_share > slowest->tail_share)
            slowest = &op->stages[i];
        if (!largest || op->stages[i].share > largest->share)
            largest = &op->stages[i];
    }
    text[0] = '\0';
    if (slowest && slowest != largest && slowest->tail_share >= 0.2)
        snprintf(text, size, " The slowest 1 %% are in %s for %.0f %% of their time.",
                 slowest->name, 100 * slowest->tail_share);
    if (*text && is_said(report, op, text))
        text[0] = '\0';
}

/* The ceilings, as far as they are known. */
static size_t describe_gain(const struct report *report, const struct prediction *prediction,
                            char *text, size_t size)
{
    char now[32], then[32];
    if (prediction->ops_per_s <= 0 || prediction->ops_per_s < 1.1 * report->load.rate)
        return 0;
    if (prediction->ops_per_s > FAR_AWAY * report->load.rate)
        return (size_t)snprintf(text, size,
                                " Without it the same load would do more than %.0f times as much.",
                                FAR_AWAY);
    return (size_t)snprintf(text, size,
                            " Without it the same load would do at most about %s op/s in place "
                            "of %s%s%s.",
                            about(prediction->ops_per_s, then, sizeof(then)),
                            about(report->load.rate, now, sizeof(now)),
                            *prediction->ceiling ? "; the next ceiling is " : "",
                            prediction->ceiling);
}

/* Where the kernel folds, the first verdict says what would find out more. */
static void describe_more(const struct report *report, const struct blame_cause *cause, char *text,
                          size_t size)
{
    static const bool waits[BLAME_CLASS_COUNT] = {
        [BLAME_LOCK] = true, [BLAME_THROTTLE] = true, [BLAME_WORK] = true, [BLAME_QUEUE] = true};

    text[0] = '\0';
    if (report->load.known || report->verdict_count > 0 || !waits[cause->class] ||
        strcmp(report->source.kind, "bpf") != 0)
        return;
    char target[24] = "";
    if (report->source.pid) /* one daemon */
        snprintf(target, sizeof(target), " -p %d", report->source.pid);
    snprintf(text, size,
             " What its threads wait for then is not followed here: `optrail locks%s` tells.",
             target);
}

void verdict_words(const struct report *report, const struct report_op *op,
                   const struct blame_cause *cause, const struct prediction *prediction,
                   struct verdict_words *words)
{
    char *text = words->text;
    size_t size = sizeof(words->text), used, knobs = 0;
    *words = (struct verdict_words){0};
    if (cause->class == BLAME_UNATTRIBUTED) {
        snprintf(text, size,
                 "%s: %.0f %% of the time lies in no stage that the path '%s' knows: what the "
                 "daemon does then is not traced.",
                 op->type, 100 * cause->share, op->path);
        add_evidence(report, op, cause, words);
        return;
    }
    used = (size_t)snprintf(text, size, "%s: %.0f %% of the time goes to ", op->type,
                            100 * cause->share);
    if (cause->class == BLAME_LOCK)
        used += describe_lock(cause, text + used, size - used);
    else if (cause->class == BLAME_CPU)
        used += describe_cpu(report, text + used, size - used);
    else
        used += describe_stage(cause, text + used, size - used);
    if (used < size && cause->class != BLAME_CPU && cause->direct < cause->share - 0.1) {
        const struct report_stage *most = NULL;
        for (size_t i = 0; i < op->stage_count; i++)
            if (strcmp(op->stages[i].kind, "wait") == 0 &&
                (!most || op->stages[i].share > most->share))
                most = &op->stages[i];
        if (most && most->share > 0.1) {
            used += (size_t)snprintf(text + used, size - used,
                                     "; %.0f %% of it as waiting in %s for threads that are busy "
                                     "with it",
                                     100 * most->share /
                                         (cause->share > most->share ? cause->share : most->share),
                                     most->name);
            if (!cause->queue)
                add_knobs(most, words, &knobs);
        }
    }
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, ".");
    if (used < size)
        used += describe_gain(report, prediction, text + used, size - used);
    if (used < size)
        describe_tail(report, op, text + used, size - used);
    used = strlen(text);
    describe_more(report, cause, text + used, size - used);
    if (cause->stage) {
        size_t through = knobs;
        char *behind[VERDICT_KNOBS];
        memcpy(behind, words->knobs, sizeof(behind));
        knobs = 0;
        memset(words->knobs, 0, sizeof(words->knobs));
        add_knobs(cause->stage, words, &knobs);
        for (size_t i = 0; i < through && knobs < VERDICT_KNOBS; i++)
            words->knobs[knobs++] = behind[i];
    }
    add_evidence(report, op, cause, words);
}

void verdict_words_nothing(const struct report *report, const struct report_op *op,
                           struct verdict_words *words)
{
    size_t largest = largest_stage(op, op->stage_count);
    const struct blame_cause none = {0};
    char mean[32];
    *words = (struct verdict_words){0};
    size_t used =
        (size_t)snprintf(words->text, sizeof(words->text), "%s: nothing stands out: %s an op",
                         op->type, duration(op->latency.mean, mean, sizeof(mean)));
    if (largest < op->stage_count)
        snprintf(words->text + used, sizeof(words->text) - used,
                 "; the largest part, %s, has %.0f %% of the time.", op->stages[largest].name,
                 100 * op->stages[largest].share);
    add_evidence(report, op, &none, words);
}
