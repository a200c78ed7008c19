/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "command.h"
#include "common_options.h"
#include "err.h"
#include "flame_samples.h"
#include "record.h"

static struct record_options record = {.snapshots = 10, .memory_mib = 256};
static const char *samples;
static int64_t rate; /* 0: not given */

static const struct option_row options[] = {
    TARGET_OPTION_ROWS(record.targets),
    {.name = "output",
     .letter = 'o',
     .type = OPTION_STRING,
     .argument = "TRACE",
     .value = &record.trace,
     .text = "the directory that is made for the trace"},
    {.name = "force",
     .type = OPTION_FLAG,
     .value = &record.force,
     .text = "replace a recording that is there already"},
    DURATION_OPTION_ROW(record.seconds, "record"),
    {.name = "snapshot",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &record.snapshot,
     .minimum = 0.1,
     .maximum = 3600,
     .text = "a flight recorder: keep the last seconds in memory, and write them into "
             "TRACE/snapshot-N at SIGUSR1, when an op is too slow, or at the end"},
    {.name = "slower-than",
     .type = OPTION_SECONDS,
     .argument = "SECONDS",
     .value = &record.slower_than,
     .minimum = 0.000001,
     .maximum = 3600,
     .text = "with --snapshot: write one when an op took longer than this, and none at the end "
             "unless it is due (0.05, 50ms)"},
    {.name = "snapshots",
     .type = OPTION_NUMBER,
     .argument = "N",
     .value = &record.snapshots,
     .minimum = 1,
     .maximum = 10000,
     .text = "at most so many snapshots (without it: 10)"},
    {.name = "snapshot-memory",
     .type = OPTION_NUMBER,
     .argument = "MIB",
     .value = &record.memory_mib,
     .minimum = 1,
     .maximum = 65536,
     .text = "memory for them at most, a daemon (without it: 256)"},
    {.name = "report",
     .type = OPTION_FLAG,
     .value = &record.report,
     .text = "print the report of what was recorded"},
    {.name = "json",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &record.output.json,
     .text = "write that report as JSON to FILE"},
    {.name = "path",
     .type = OPTION_STRING,
     .argument = "FILE",
     .value = &record.path,
     .text = "take the report's stages from this path file, or from the files of this directory"},
    {.name = "detail",
     .type = OPTION_STRING,
     .argument = "LEVEL",
     .value = &record.detail,
     .text = "of a ceph-osd: basic, standard (without the option) or deep, as `optrail attach`"},
    {.name = "allow-slow",
     .type = OPTION_FLAG,
     .value = &record.allow_slow,
     .text = "also probe where the kernel must single-step: some 20 microseconds a hit"},
    {.name = "locks",
     .type = OPTION_FLAG,
     .value = &record.locks,
     .text = "also write the contended waits for locks, as seen at the futex: who waited, who had "
             "it, who gave it back, and their call stacks"},
    {.name = "samples",
     .type = OPTION_STRING,
     .argument = "KIND",
     .value = &samples,
     .text = "also write samples of the daemon's threads with their call stacks: cpu, offcpu, "
             "runnable or wall, as `optrail flame` draws them"},
    {.name = "rate",
     .type = OPTION_NUMBER,
     .argument = "NUMBER",
     .value = &rate,
     .minimum = 1,
     .maximum = 1000000000,
     .text = "with --samples: how often a second each CPU is looked at (without it: 99); with "
             "--lttng: events a second to be borne, all CPUs together: it sizes the buffers "
             "(without it: a million)"},
#ifdef OPTRAIL_HAVE_RECORD_LTTNG
    {.name = "lttng",
     .type = OPTION_FLAG,
     .value = &record.lttng,
     .text = "by LTTng, from all daemons that are built with optrail's probes"},
    {.name = "ceph",
     .type = OPTION_FLAG,
     .value = &record.ceph,
     .text = "with --lttng: also from a Ceph that is built WITH_LTTNG, by its own tracepoints"},
    {.name = "session",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &record.session,
     .text = "with --lttng: the name of the session (without it: optrail-PID)"},
    {.name = "url",
     .type = OPTION_STRING,
     .argument = "net://HOST",
     .value = &record.url,
     .text = "with --lttng: send the trace to the relay daemon there, in place of -o"},
#endif
    {0},
};

static int read_samples(void)
{
    record.samples = flame_sample_kinds(flame_kinds_by_name(samples));
    return record.samples
               ? 0
               : err_set(EINVAL, "--samples: '%s' is none of cpu, offcpu, runnable, wall", samples);
}

/* Options that do not go together. */
static int check(void)
{
    if (record.slower_than > 0 && record.snapshot <= 0)
        return err_set(EINVAL, "--slower-than needs --snapshot SECONDS: how much to keep");
    if (record.lttng && (record.targets.pids.count > 0 || record.targets.osds.count > 0))
        return err_set(EINVAL, "--lttng records all daemons with probes: leave out -p and --osd");
    if (!record.lttng && (record.session || record.url || record.ceph))
        return err_set(EINVAL, "--session, --url and --ceph are for --lttng");
    if (record.lttng && record.locks)
        return err_set(EINVAL, "--locks captures by eBPF: leave out --lttng");
    if (record.lttng && samples)
        return err_set(EINVAL, "--samples captures by eBPF: leave out --lttng");
    if (rate && !record.lttng && !samples)
        return err_set(EINVAL, "--rate is for --samples and for --lttng");
    if (rate > 10000 && samples)
        return err_set(EINVAL, "--rate: samples are taken 10000 times a second at most");
    if (record.trace && record.url)
        return err_set(EINVAL, "either -o TRACE or --url, not both");
    if (!record.trace && !record.url)
        return err_set(EINVAL, "say where to: -o TRACE");
    record.rate = rate ? rate : 1000000;
    record.sample_rate = rate ? (uint32_t)rate : 99;
    return samples ? read_samples() : 0;
}

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    int result = check();

    /* what is recorded would be lost to a report that cannot be written */
    if (result == 0)
        result = report_output_check(&record.output, record.path, 0, NULL);
    if (result < 0)
        return result;
    /* the report goes to standard output only when it was asked for */
    if (!record.report && record.output.json) {
        record.output.file = "/dev/null";
    }
#ifdef OPTRAIL_HAVE_RECORD_LTTNG
    if (record.lttng)
        return record_lttng(&record);
#endif
    return record_bpf(&record);
}

extern const struct command command_record;
const struct command command_record = {
    .name = "record",
    .arguments = "",
    .summary = "write the events of running daemons as a CTF trace",
    .text =
        "Probes running storage daemons as `optrail attach` does, and writes their events into a "
        "CTF trace, for `optrail report`, babeltrace2 or Trace Compass. The trace knows the "
        "daemon, "
        "its store, and what was lost or left out, so that the report on it says what a live one "
        "would have said. Several daemons get a directory each within TRACE, with "
        "the process's number in its name where two are called the same.\n\n"
        "With --locks or --samples any process can be recorded (-p): of one that is no storage "
        "daemon the trace has these alone.\n\n"
        "With --lttng an LTTng session records daemons that are built with optrail's probes, at a "
        "tenth of the cost of a breakpoint. A session daemon that runs is used; if none does, one "
        "is started for as long as the recording lasts. With --ceph it also records what a Ceph "
        "tells that is built with its own LTTng tracepoints.\n\n"
        "With --snapshot nothing is written until there is a reason to: SIGUSR1, an op that was "
        "too slow, or the end. No event is in two snapshots.\n\n"
        "Ctrl-C ends the recording and keeps it; a second one, from two seconds later on, ends "
        "optrail itself. When the disk is full, what was written is kept "
        "and can be read, and the exit status is 1; so is what a killed recorder left, but for its "
        "last second.",
    .examples = "optrail record --osd 0 -d 10 -o trace\tten seconds of osd.0\n"
                "optrail report trace\twhere the time went\n"
                "optrail record --all --snapshot 5 --slower-than 200ms -o slow\tthe five seconds "
                "around each op that took longer than 200 ms\n"
                "optrail record --lttng -d 10 -o trace\tby LTTng, from daemons with probes",
    .options = options,
    .run = run,
};
