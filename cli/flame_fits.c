/* SPDX-License-Identifier: MIT */
#include "flame_fits.h"

#include <errno.h>
#include <stddef.h>

#include "err.h"

#define DAEMONS (1u << FLAME_OF_DAEMONS)
#define TRACES  (1u << FLAME_OF_TRACES)
#define FILES   (1u << FLAME_OF_FILES)
#define ALL     (DAEMONS | TRACES | FILES)

#define SLEEPS  (1u << FLAME_offcpu)
#define WAITS   (SLEEPS | 1u << FLAME_runnable | 1u << FLAME_lock)
#define THREADS (WAITS | 1u << FLAME_cpu)
#define ANY     (THREADS | 1u << FLAME_stage)

enum { GRAPH = 1, SINGLE_OPS = 2, BOTH = GRAPH | SINGLE_OPS };

struct row {
    const char *option;
    const char *words; /* what it is for */
    uint32_t sources;  /* of which it says something: by enum flame_source */
    uint32_t kinds;    /* likewise: by enum flame_kind, one of them is enough */
    int forms;         /* likewise */
    bool given;
};

static bool asks_by(const struct flame_options *options, enum flame_attribute attribute)
{
    for (size_t i = 0; i < options->by_count; i++)
        if (options->by[i] == attribute)
            return true;
    return false;
}

/* As --kind names them. */
static const char *name_of(uint32_t kinds)
{
    for (int i = 0; i < FLAME_KIND_COUNT; i++)
        if (kinds >> i & 1)
            return flame_kind_rows[i].name;
    return "";
}

/* What is drawn when no kind is named. */
static uint32_t kinds_of(const struct flame_options *options, enum flame_source source)
{
    return options->kinds              ? options->kinds
           : source == FLAME_OF_TRACES ? 1u << FLAME_stage
                                       : 1u << FLAME_cpu;
}

static int check(const struct row *row, enum flame_source source, uint32_t kinds,
                 const struct flame_renderer *renderer)
{
    int form = renderer->timeline ? SINGLE_OPS : GRAPH;
    if (!row->given)
        return 0;
    if (!(row->sources >> source & 1))
        return err_set(EINVAL, "%s is for %s", row->option, row->words);
    if (!(row->forms & form))
        return err_set(EINVAL, "%s: --format %s shows %s", row->option, renderer->name,
                       renderer->timeline ? "single ops, thread by thread, with all their waits"
                                          : "no single ops: --format perfetto does");
    /* of files all samples count as cpu; what else they tell is theirs to say */
    if (renderer->tree && source != FLAME_OF_FILES && !(row->kinds & kinds))
        return err_set(EINVAL, "%s is for %s: not for --kind %s", row->option, row->words,
                       name_of(kinds));
    return 0;
}

int flame_options_fit(const struct flame_request *request, const struct flame_given *given,
                      enum flame_source source, const struct flame_renderer *renderer)
{
    const struct flame_options *options = &request->options;
    const struct row rows[] = {
        {"-d", "running daemons", DAEMONS, ANY, BOTH, given->seconds},
        {"--rate", "running daemons", DAEMONS, ANY, BOTH, given->rate},
        {"--idle", "samples of threads that sleep (--kind offcpu or wall)", DAEMONS | TRACES,
         SLEEPS, GRAPH, request->idle},
        {"--wakers", "samples of threads that sleep (--kind offcpu or wall)", DAEMONS | TRACES,
         SLEEPS, GRAPH, request->wakers},
        {"--by waker", "samples of threads that sleep (--kind offcpu or wall)", DAEMONS | TRACES,
         SLEEPS, GRAPH, asks_by(options, FLAME_BY_WAKER)},
        {"--by reason", "waits (--kind offcpu, runnable, wall or lock)", ALL, WAITS, GRAPH,
         asks_by(options, FLAME_BY_REASON)},
        {"--reason", "waits (--kind offcpu, runnable, wall or lock)", ALL, WAITS, GRAPH,
         options->reason},
        {"--by thread", "what threads do", ALL, THREADS, GRAPH, asks_by(options, FLAME_BY_THREAD)},
        {"--by pool", "what threads do", ALL, THREADS, GRAPH, asks_by(options, FLAME_BY_POOL)},
        {"--thread", "what threads do", ALL, THREADS, GRAPH, options->thread},
        {"--kind", "flame graphs", ALL, ANY, GRAPH, given->kind},
        {"--tail", "flame graphs", ALL, ANY, GRAPH, request->tail > 0},
        {"--stage", "flame graphs", ALL, ANY, GRAPH, options->stage},
        {"--from and --to", "flame graphs", ALL, ANY, GRAPH, options->in_range},
        {"--inverted", "flame graphs", ALL, ANY, GRAPH, options->inverted},
        {"--by", "flame graphs", ALL, ANY, GRAPH, request->by_given},
        {"--weight", "flame graphs", ALL, ANY, GRAPH, given->weight},
        {"--title", "flame graphs", ALL, ANY, GRAPH, given->title},
        {"--diff", "traces and files", TRACES | FILES, ANY, GRAPH, request->compare},
        {"--event", "files of stacks", FILES, ANY, BOTH, request->event},
        {"--input", "files of stacks", FILES, ANY, BOTH, request->input},
        {"--ops", "running daemons and traces", DAEMONS | TRACES, ANY, SINGLE_OPS, given->ops},
    };
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof(rows) / sizeof(*rows); i++)
        result = check(&rows[i], source, kinds_of(options, source), renderer);
    return result;
}
