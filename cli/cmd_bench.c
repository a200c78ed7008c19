/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "err.h"
#include "interrupt.h"
#include "output_file.h"
#include "overhead.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "optrail-bench-probes"

static const char *json_file;
static int64_t rounds = 51;
static int64_t pid, pairs = 100, cpu = -1;
static const char *osd, *detail, *attach_options;
static double slice = 0.2;
static bool control;

static const struct option_row options[] = {
    {.name = "json",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &json_file,
     .text = "also write the figures as JSON (-: to standard output, instead of the table)"},
    {.name = "rounds",
     .letter = 'n',
     .type = OPTION_NUMBER,
     .argument = "N",
     .value = &rounds,
     .minimum = 3,
     .maximum = 201,
     .text = "probes: how often everything is measured in turns (default: 51)"},
    {.name = "pid",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "PID",
     .value = &pid,
     .minimum = 1,
     .maximum = INT_MAX,
     .text = "overhead: the daemon with this process number"},
    {.name = "osd",
     .type = OPTION_STRING,
     .argument = "ID",
     .value = &osd,
     .text = "overhead: the ceph-osd with this id"},
    {.name = "pairs",
     .type = OPTION_NUMBER,
     .argument = "N",
     .value = &pairs,
     .minimum = 1,
     .maximum = 10000,
     .text = "overhead: so many pairs of a slice with and one without tracing (default: 100)"},
    {.name = "slice",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &slice,
     .minimum = 0.05,
     .maximum = 3600,
     .text = "overhead: how long a slice is (default: 0.2)"},
    {.name = "detail",
     .type = OPTION_STRING,
     .argument = "LEVEL",
     .value = &detail,
     .text = "overhead: as in optrail attach"},
    {.name = "attach",
     .type = OPTION_STRING,
     .argument = "OPTIONS",
     .value = &attach_options,
     .text = "overhead: more options for optrail attach, in one word: --attach '--path FILE'"},
    {.name = "pin",
     .type = OPTION_NUMBER,
     .argument = "CPU",
     .value = &cpu,
     .minimum = 0,
     .maximum = 1023,
     .text = "overhead: bind the daemon's threads to this CPU meanwhile"},
    {.name = "control",
     .type = OPTION_FLAG,
     .value = &control,
     .text = "overhead: never trace: shows by how much equal slices differ"},
    {0},
};

/* Where the measuring program lies, seen from our own. */
static const char *const places[] = {"../lib/optrail/", ""};

static int find_program(char file[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length < 0)
        return err_set(errno, "cannot tell where optrail is installed: %s", strerror(errno));
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int needed = snprintf(file, PATH_MAX, "%s/%s%s", own, places[i], PROGRAM);
        if (needed > 0 && needed < PATH_MAX && access(file, X_OK) == 0)
            return 0;
    }
    return err_set(ENOENT, PROGRAM " is neither beside optrail nor in ../lib/optrail");
}

static int bench_probes(int argc, char **argv)
{
    char file[PATH_MAX], rounds_text[32];

    (void)argv;
    if (argc > 1)
        return err_set(EINVAL, "bench probes takes no further words");
    int result = find_program(file);
    if (result < 0)
        return result;
    snprintf(rounds_text, sizeof(rounds_text), "%lld", (long long)rounds);
    /* a program of its own, because it contains probes: optrail shall not look like a daemon */
    if (json_file)
        execl(file, PROGRAM, "--rounds", rounds_text, "--json", json_file, (char *)NULL);
    else
        execl(file, PROGRAM, "--rounds", rounds_text, (char *)NULL);
    return err_set(errno, "cannot run %s: %s", file, strerror(errno));
}

struct measured {
    const struct overhead_options *measuring;
    const struct overhead_result *result;
};

static int render_json(const void *context, FILE *out)
{
    const struct measured *measured = context;
    return overhead_print_json(measured->measuring, measured->result, out);
}

static int write_overhead(const struct overhead_options *measuring,
                          const struct overhead_result *result)
{
    const struct measured measured = {measuring, result};
    bool only_json = json_file && output_is_standard(json_file);
    int error =
        only_json ? render_json(&measured, stdout) : overhead_print(measuring, result, stdout);

    if (error || !json_file || only_json)
        return error;
    return output_file_write(json_file, render_json, &measured);
}

static int bench_overhead(int argc, char **argv)
{
    char words[1024] = "";
    struct overhead_options measuring = {
        .pairs = (size_t)pairs, .slice_seconds = slice, .cpu = (int)cpu, .control = control};
    struct overhead_result result = {0};

    if ((pid != 0) + (osd != NULL) != 1)
        return err_set(EINVAL, "say which daemon: -p PID or --osd ID (optrail list shows them)");
    int used =
        snprintf(words, sizeof(words), "%s%s%s%s", detail ? "--detail " : "", detail ? detail : "",
                 detail && attach_options ? " " : "", attach_options ? attach_options : "");
    if (used >= (int)sizeof(words))
        return err_set(EINVAL, "--attach: too many options");
    measuring.attach_options = *words ? words : NULL;
    argv[argc] = NULL; /* what parsing has left behind is not part of the command */
    measuring.load = argc > 1 ? argv + 1 : NULL;
    measuring.stop = interrupt_install();
    int error = osd ? target_find_osd(osd, &measuring.target)
                    : target_inspect((pid_t)pid, &measuring.target);
    if (!error)
        error = overhead_measure(&measuring, &result);
    if (!error)
        error = write_overhead(&measuring, &result);
    free(result.pairs);
    return error == -EINVAL ? -EBADMSG : error;
}

/* The benches, by their names. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} benches[] = {{"probes", bench_probes}, {"overhead", bench_overhead}};

static int run(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(benches) / sizeof(benches[0]); i++)
        if (strcmp(argv[0], benches[i].name) == 0)
            return benches[i].run(argc, argv);
    return err_set(EINVAL, "there is no bench `%s`: try `optrail bench probes` or `overhead`",
                   argv[0]);
}

const struct command command_bench;

const struct command command_bench = {
    .name = "bench",
    .arguments = "probes|overhead [-- COMMAND...]",
    .summary = "what tracing costs on this machine",
    .text =
        "probes: measures what one probe costs here, when nobody listens and when LTTng or an eBPF "
        "program does, in ns and in relation to an empty call, and compares it with a bare "
        "LTTng tracepoint of the same payload.\n\n"
        "Each figure is the median of many short rounds in which everything takes its turn. "
        "LTTng is measured with a session daemon of its own. What cannot be measured here, "
        "for want of root, LTTng or eBPF, is listed with the reason.\n\n"
        "overhead: measures what `optrail attach` costs a daemon under load. Slices with and "
        "without it take turns (off on, on off), so that what drifts hits both alike. How many "
        "ops there were the daemon itself tells: a ceph-osd by its admin socket, a ministore by "
        "its --stats file. COMMAND puts load on the daemon, and is ended in the end; without "
        "it there must be load already. Printed are medians over the pairs, how they spread, "
        "and between which bounds the true median lies with 95 % confidence; CPU is that of "
        "all threads, and what the kernel does at a probe is the daemon's.",
    .examples =
        "optrail bench probes\tthe table\n"
        "optrail bench overhead --osd 0 -- rados -p bench bench 600 rand -t 16\tunder load\n"
        "optrail bench overhead --osd 0 --control\tthe noise of this machine\n"
        "optrail bench probes --json -\tthe same for programs",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = -1,
    .run = run,
};
