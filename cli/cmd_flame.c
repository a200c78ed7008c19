/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common_options.h"
#include "err.h"
#include "escape.h"
#include "flame_files.h"
#include "flame_fits.h"
#include "flame_live.h"
#include "flame_recorded.h"
#include "flame_render.h"
#include "flame_traces.h"
#include "output_file.h"
#include "report_output.h"
#include "target_options.h"

#define RATE         99 /* Hz; no multiple of what timers use */
#define TIMELINE_OPS 8

static struct report_output output;
static struct target_options chosen;
static struct flame_live_options live = {.targets = &chosen};
static int64_t rate; /* 0: RATE */
static struct flame_request request;
static const char *kind, *op, *stage, *thread, *reason, *tail, *weight, *title;
static struct option_words by;
static bool inverted, compare;
static double from_s, to_s;
static bool from_given, to_given;
static int64_t timeline_ops; /* 0: TIMELINE_OPS */

static const struct option_row options[] = {
    TARGET_OPTION_ROWS(chosen),
    DURATION_OPTION_ROW(live.seconds, "sample"),
    {.name = "rate",
     .type = OPTION_NUMBER,
     .argument = "HZ",
     .value = &rate,
     .minimum = 1,
     .maximum = 10000,
     .text = "how often a second each CPU is looked at (without it: 99)"},
    {.name = "idle",
     .type = OPTION_FLAG,
     .value = &request.idle,
     .text =
         "of samples, also the waits of threads that have nothing to do: those that wait for more "
         "work, not for the op in hand"},
    {.name = "wakers",
     .type = OPTION_FLAG,
     .value = &request.wakers,
     .text =
         "of sleeps, put on the stack that of the thread which ended it, upside down, and so on "
         "from waker to waker"},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &output.file,
     .text = "write to FILE (-: to standard output); its name's end tells the format, and one that "
             "no format has is refused"},
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &output.format,
     .text = "svg, collapsed, speedscope, pprof or perfetto (without it: as FILE's name ends, else "
             "svg)"},
    {.name = "kind",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &kind,
     .text = "which time: cpu, offcpu, runnable, wall, lock or stage (without it: of a trace "
             "stage, of a running daemon cpu)"},
    {.name = "op",
     .type = OPTION_STRING,
     .argument = "PATTERN",
     .value = &op,
     .text = "only time spent for ops of this type"},
    {.name = "stage",
     .type = OPTION_STRING,
     .argument = "PATTERN",
     .value = &stage,
     .text = "only while the op was in this stage"},
    {.name = "tail",
     .type = OPTION_STRING,
     .argument = "PERCENT",
     .value = &tail,
     .text = "only the slowest ops of each type: 1% of them, say"},
    {.name = "thread",
     .type = OPTION_STRING,
     .argument = "PATTERN",
     .value = &thread,
     .text = "only threads of this name"},
    {.name = "reason",
     .type = OPTION_STRING,
     .argument = "PATTERN",
     .value = &reason,
     .text = "only waits for this: a lock's name"},
    {.name = "from",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &from_s,
     .minimum = 0,
     .maximum = 1e9,
     .given = &from_given,
     .text = "only what began so long after the beginning of the data, or later"},
    {.name = "to",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &to_s,
     .minimum = 0,
     .maximum = 1e9,
     .given = &to_given,
     .text = "only what began before that"},
    {.name = "by",
     .type = OPTION_WORDS,
     .argument = "NAMES",
     .value = &by,
     .text = "put what is known of each sample next to the root: kind, reason, pool, thread, op, "
             "stage or waker, several with commas; none: nothing (without it: of perf's output, "
             "thread)"},
    {.name = "inverted",
     .type = OPTION_FLAG,
     .value = &inverted,
     .text = "begin with the innermost frames: who calls them"},
    {.name = "diff",
     .type = OPTION_FLAG,
     .value = &compare,
     .text = "compare: the first input is before, the others are after"},
    {.name = "weight",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &weight,
     .text = "how wide frames are: by time or by count (without it: cpu by count, the rest by "
             "time)"},
    {.name = "event",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &request.event,
     .text = "of perf's output, the samples of this event (without it: of that of the first "
             "sample)"},
    {.name = "input",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &request.input,
     .text = "what the files are: collapsed or perf (without it: found out)"},
    {.name = "ops",
     .type = OPTION_NUMBER,
     .argument = "COUNT",
     .value = &timeline_ops,
     .minimum = 1,
     .maximum = 256,
     .text = "how many of the slowest ops --format perfetto shows (without it: 8)"},
    PATH_OPTION_ROW(request.path),
    {.name = "title",
     .type = OPTION_STRING,
     .argument = "TEXT",
     .value = &title,
     .text = "the title"},
    {0},
};

static int read_by(struct flame_options *to)
{
    for (size_t i = 0; i < by.count; i++) {
        const struct option_word *word = &by.words[i];
        int found = -1;
        request.by_given = true;
        if (by.count == 1 && word->length == 4 && memcmp(word->text, "none", 4) == 0)
            return 0;
        for (int j = 0; j < FLAME_ATTRIBUTE_COUNT; j++)
            if (strlen(flame_attribute_names[j]) == word->length &&
                memcmp(word->text, flame_attribute_names[j], word->length) == 0)
                found = j;
        for (size_t j = 0; j < to->by_count; j++)
            if (found == (int)to->by[j])
                return err_set(EINVAL, "--by names %s twice", flame_attribute_names[found]);
        if (found < 0)
            return err_set(
                EINVAL,
                "--by: '%.*s' is none of kind, reason, pool, thread, op, stage, waker, none",
                (int)word->length, word->text);
        to->by[to->by_count++] = (enum flame_attribute)found;
    }
    return 0;
}

static int read_tail(void)
{
    char *end;
    if (!tail)
        return 0;
    double percent = strtod(tail, &end);
    if (end == tail || (*end && strcmp(end, "%") != 0) || !(percent > 0) || percent > 100)
        return err_set(EINVAL, "--tail: '%s' is no share between 0%% and 100%%", tail);
    request.tail = percent / 100;
    return 0;
}

static int read_options(void)
{
    struct flame_options *to = &request.options;
    *to = (struct flame_options){.op = op,
                                 .stage = stage,
                                 .thread = thread,
                                 .reason = reason,
                                 .inverted = inverted,
                                 .in_range = from_given || to_given,
                                 .from_ns = (uint64_t)(from_s * 1e9),
                                 .to_ns = to_given ? (uint64_t)(to_s * 1e9) : UINT64_MAX};
    request.compare = compare;
    if (kind && (to->kinds = flame_kinds_by_name(kind)) == 0)
        return -EINVAL;
    if (weight && strcmp(weight, "time") != 0 && strcmp(weight, "count") != 0)
        return err_set(EINVAL, "--weight: '%s' is neither time nor count", weight);
    if (weight)
        to->weight = strcmp(weight, "time") == 0 ? FLAME_WEIGHT_TIME : FLAME_WEIGHT_COUNT;
    if (to->in_range && to->from_ns >= to->to_ns)
        return err_set(EINVAL, "--from is not before --to");
    int result = read_by(to);
    return result < 0 ? result : read_tail();
}

/* "x.svg", not "x", "x/y", ".x" or "/dev/stdout". */
static bool has_ending(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

    return *name && strchr(name + 1, '.');
}

/* The form that is asked for; NULL with the message. */
static const struct flame_renderer *choose_renderer(void)
{
    if (output.format)
        return flame_renderer_by_name(output.format);
    const struct flame_renderer *renderer =
        output.file ? flame_renderer_by_file(output.file) : NULL;
    if (renderer || !output.file || !has_ending(output.file))
        return renderer ? renderer : flame_renderer_by_name("svg");
    char endings[256] = "";
    for (const struct flame_renderer *row = flame_renderers; row->name; row++)
        snprintf(endings + strlen(endings), sizeof(endings) - strlen(endings), "%s%s",
                 row == flame_renderers ? "" : " ", row->suffixes);
    err_set(EINVAL, "-o %s: no form has this ending: choose one of %s, or say --format NAME",
            output.file, endings);
    return NULL;
}

/* What was made on its way to a form. */
struct rendering {
    const struct flame_renderer *renderer;
    const struct flame_result *made;
};

static int render(const void *context, FILE *out)
{
    const struct rendering *rendering = context;
    return rendering->renderer->tree
               ? rendering->renderer->tree(rendering->made->tree, out)
               : rendering->renderer->timeline(rendering->made->timeline, out);
}

static bool is_for_standard_output(void)
{
    return !output.file || output_is_standard(output.file);
}

static int write_output(const struct flame_renderer *renderer, const struct flame_result *made)
{
    const struct rendering rendering = {renderer, made};
    return is_for_standard_output() ? render(&rendering, stdout)
                                    : output_file_write(output.file, render, &rendering);
}

/* What was asked for, for people who see the picture only. */
static int make_title(struct flame_tree *tree, const char *what)
{
    char text[512];
    size_t used;
    if (title)
        return flame_tree_set(&tree->title, title);
    const struct {
        const char *name, *value;
    } rows[] = {
        {"op", op}, {"stage", stage}, {"slowest", tail}, {"thread", thread}, {"waits for", reason}};
    if (request.input_count == 0)
        snprintf(text, sizeof(text), "%s", what);
    else if (request.compare && request.input_count > 1)
        snprintf(text, sizeof(text), "%s: %s compared with %s", what, request.inputs[1],
                 request.inputs[0]);
    else
        snprintf(text, sizeof(text), "%s: %s%s", what, request.inputs[0],
                 request.input_count > 1 ? " and others" : "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        used = strlen(text);
        if (rows[i].value)
            snprintf(text + used, sizeof(text) - used, ", %s %s", rows[i].name, rows[i].value);
    }
    used = strlen(text);
    if (inverted)
        snprintf(text + used, sizeof(text) - used, ", inverted");
    return flame_tree_set(&tree->title, text);
}

/* Names in it are those of others' files. */
static void say(FILE *said, const char *note)
{
    char shown[4096];
    escape_for_terminal(note, shown, sizeof(shown));
    fprintf(said, "optrail: %s\n", shown);
}

/* Writes what was made, and to `said` what could not be. `result` and the message in place: of the
 * making, which may have met damage. */
static int deliver(const struct flame_renderer *renderer, const struct flame_result *made,
                   int result, FILE *said)
{
    char damage[1024];
    snprintf(damage, sizeof(damage), "%s", err_message());
    for (size_t i = 0; made->tree && i < made->tree->note_count; i++)
        if (result == 0 || strcmp(made->tree->notes[i], damage) != 0)
            say(said, made->tree->notes[i]);
    for (size_t i = 0; made->timeline && i < made->timeline->note_count; i++)
        say(said, made->timeline->notes[i]);
    int written = made->tree ? make_title(made->tree, made->what) : 0;
    if (written == 0)
        written = write_output(renderer, made);
    if (written < 0)
        return written;
    return result < 0 ? err_set(-result, "%s", damage) : 0;
}

static int run_files(const struct flame_renderer *renderer)
{
    struct flame_result made = {.what = "stacks"};
    if (!renderer->tree)
        return err_set(EINVAL, "--format %s needs a trace: files of stacks tell no single ops",
                       renderer->name);
    int result = flame_read_files(&request, &made.tree);
    if (made.tree)
        result = deliver(renderer, &made, result, stderr);
    flame_tree_free(made.tree);
    return result;
}

static int run(int argc, char **argv)
{
    request.input_count = argc;
    request.inputs = argv;
    int result = read_options();
    const struct flame_renderer *renderer = result == 0 ? choose_renderer() : NULL;
    if (!renderer)
        return -EINVAL;
    if (compare && argc < 2)
        return err_set(EINVAL, "--diff needs two inputs: before and after");
    if (renderer->binary && is_for_standard_output() && isatty(STDOUT_FILENO))
        return err_set(EINVAL, "--format %s is not for a terminal: name a file with -o",
                       renderer->name);
    const struct report_output file = {.file = output.file};
    result = report_output_check(&file, request.path, argc, argv);
    const struct flame_given given = {.seconds = live.seconds > 0,
                                      .rate = rate > 0,
                                      .ops = timeline_ops > 0,
                                      .kind = kind != NULL,
                                      .weight = weight != NULL,
                                      .title = title != NULL};
    size_t shown = timeline_ops ? (size_t)timeline_ops : TIMELINE_OPS;
    if (result == 0 && argc == 0)
        result = flame_options_fit(&request, &given, FLAME_OF_DAEMONS, renderer);
    if (result == 0 && argc == 0) {
        live.rate = rate ? (uint32_t)rate : RATE;
        return flame_needs_events(&request, renderer)
                   ? flame_run_recorded(&request, &live, renderer, shown, deliver)
                   : flame_run_live(&request, &live, renderer, deliver);
    }
    if (result == 0 && (chosen.pids.count || chosen.osds.count || chosen.all))
        return err_set(EINVAL, "say either which daemons or which files, not both");
    int files = result == 0 ? flame_inputs_are_files(&request) : 0;
    if (result < 0 || files < 0)
        return result < 0 ? result : files;
    result =
        flame_options_fit(&request, &given, files ? FLAME_OF_FILES : FLAME_OF_TRACES, renderer);
    if (result < 0)
        return result;
    return files ? run_files(renderer) : flame_run_traces(&request, renderer, shown, deliver);
}

const struct command command_flame = {
    .name = "flame",
    .arguments = "[INPUT...]",
    .summary = "flame graphs of running daemons, of traces, of perf's output",
    .text =
        "Draws where time goes as a flame graph: of a running process (-p, --osd), or of INPUT. "
        "INPUT is a recorded trace (a directory), the "
        "output of `perf script`, or collapsed stacks; files may be gzipped, - is standard "
        "input; several are added up.\n\n"
        "Of a trace, --kind stage shows the time of ops by type and stage, --kind lock the "
        "contended waits with the call stacks of those who waited. Since it is known which op each "
        "thread works for, --op, --stage and --tail show one type of ops, one stage, or the "
        "slowest ops alone.\n\n"
        "A running process is sampled without any change to it: --kind cpu where it is on a CPU, "
        "offcpu where its threads sleep and what for, runnable where they want a CPU and have "
        "none, wall all three. Where ops are asked for (--op, --stage, --tail and the like) their "
        "events are recorded with the samples, into a trace in TMPDIR that is drawn and removed; "
        "so are "
        "the waits of --kind lock, of any process. A type of op or a stage that the daemon's path "
        "file does not have is refused before anything is recorded. "
        "`optrail record --samples` makes one that stays.\n\n"
        "What could not be read is counted and said, with the numbers of the lines; the rest is "
        "drawn, and the exit status is 1.",
    .examples =
        "optrail flame --osd 0 -d 10 -o cpu.svg\tten seconds of osd.0, on the CPU\n"
        "optrail flame -p 4711 -d 10 --kind offcpu --by reason -o off.svg\twhat threads wait for\n"
        "optrail flame --osd 0 -d 10 --op write --tail 1% -o slow.svg\tCPU time of the slowest "
        "writes\n"
        "optrail flame -o stages.svg TRACE\twhere ops of each type spend their time\n"
        "optrail flame --kind lock --tail 1% -o locks.svg TRACE\twhat the slowest 1 % of ops wait "
        "for\n"
        "perf script | optrail flame -o cpu.svg -\tin place of the usual scripts\n"
        "optrail flame --diff -o diff.svg before.txt after.txt\twhat has changed\n"
        "optrail flame --format perfetto -o slow.perfetto.json TRACE\tthe slowest ops, thread by "
        "thread",
    .options = options,
    .minimum_arguments = 0,
    .maximum_arguments = -1,
    .run = run,
};
