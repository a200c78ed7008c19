/* SPDX-License-Identifier: MIT */
#include "command.h"
#include "err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "optrail-bench-probes"

static const char *json_file;
static int64_t rounds = 51;

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
     .text = "how often everything is measured in turns (default: 51)"},
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

static int run(int argc, char **argv)
{
    (void)argc;
    if (strcmp(argv[0], "probes") != 0)
        return err_set(EINVAL, "there is no bench `%s`: try `optrail bench probes`", argv[0]);
    char file[PATH_MAX];
    int result = find_program(file);
    if (result < 0)
        return result;
    char rounds_text[32];
    snprintf(rounds_text, sizeof(rounds_text), "%lld", (long long)rounds);
    /* a program of its own, because it contains probes: optrail shall not look like a daemon */
    if (json_file)
        execl(file, PROGRAM, "--rounds", rounds_text, "--json", json_file, (char *)NULL);
    else
        execl(file, PROGRAM, "--rounds", rounds_text, (char *)NULL);
    return err_set(errno, "cannot run %s: %s", file, strerror(errno));
}

const struct command command_bench;

const struct command command_bench = {
    .name = "bench",
    .arguments = "probes",
    .summary = "what tracing costs on this machine",
    .text = "Measures what one probe costs here, when nobody listens and when LTTng or an eBPF "
            "program does, in ns and in relation to an empty call, and compares it with a bare "
            "LTTng tracepoint of the same payload.\n\n"
            "Each figure is the median of many short rounds in which everything takes its turn. "
            "LTTng is measured with a session daemon of its own. What cannot be measured here, "
            "for want of root, LTTng or eBPF, is listed with the reason.",
    .examples = "optrail bench probes\tthe table\n"
                "optrail bench probes --json -\tthe same for programs",
    .options = options,
    .minimum_arguments = 1,
    .maximum_arguments = 1,
    .run = run,
};
