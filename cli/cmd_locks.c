/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common_options.h"
#include "duty_option.h"
#include "err.h"
#include "inputs.h"
#include "interrupt.h"
#include "knob_values.h"
#include "live_locks.h"
#include "report_output.h"
#include "report_traces.h"
#include "target_options.h"

/* Half of the time: less would be saved than the way in and out takes. */
#define MOST_DUTY 0.5

static struct report_output output;
static struct target_options chosen;
static const char *path;
static double seconds;
static const char *duty;

static const struct option_row options[] = {
    TARGET_OPTION_ROWS(chosen),
    DURATION_OPTION_ROW(seconds, "watch"),
    {.name = "duty",
     .type = OPTION_STRING,
     .argument = "PART",
     .value = &duty,
     .text = "capture waits of running processes for this part of the time at most, such as 20%, "
             "and count each for several"},
    REPORT_OUTPUT_ROWS(output),
    {.name = "all-locks",
     .type = OPTION_FLAG,
     .value = &output.all_locks,
     .text = "also look closely at locks with less than 1 % of all that is waited for"},
    PATH_OPTION_ROW(path),
    {0},
};

/* Processes that are no storage daemons: their locks are looked at all the same. */
static int choose_processes(pid_t *pids, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < chosen.pids.count; i++) {
        struct target target;
        long pid = strtol(chosen.pids.words[i].text, NULL, 10);
        int result = pid > 0 && pid <= INT_MAX ? target_inspect((pid_t)pid, &target) : -EINVAL;
        if (result < 0 || target.kind[0] || target.obstacle[0])
            return 0; /* the usual choice tells of it */
        pids[(*count)++] = (pid_t)pid;
    }
    return 0;
}

static int watch(const struct live_locks_options *watching)
{
    struct report *report = NULL;
    int result = live_locks_run(watching, &report);
    if (result == 0 && watching->group)
        result = knob_values_add(report, watching->group->targets, watching->group->count);
    if (result == 0)
        result = report_output_write(&output, report);
    report_free(report);
    return result;
}

/* A wait stands for a whole number of them: one in so many parts of the time, so that it is never
 * more of it than was asked for. */
static int read_duty(uint32_t *one_in)
{
    double part;
    int result = duty_option_read(duty, MOST_DUTY, &part);
    if (result == 0 && duty)
        *one_in = (uint32_t)(1 / part + 1 - 1e-9);
    return result;
}

static int run_live(void)
{
    struct target *targets = NULL;
    pid_t *pids = calloc(chosen.pids.count + 1, sizeof(*pids));
    struct live_group_options group = {.path = path,
                                       .tracing = {.each = {.seconds = seconds, .held = true}},
                                       .fold = LIVE_FOLD_USER};
    struct live_locks_options watching = {.pids = pids, .seconds = seconds};
    int result = pids ? target_options_check(&chosen) : err_no_memory();
    if (result == 0)
        result = read_duty(&watching.one_in);
    if (result == 0)
        result = choose_processes(pids, &watching.pid_count);
    if (result == 0 && (watching.pid_count == 0 || watching.pid_count < chosen.pids.count)) {
        watching.pid_count = 0;
        result = target_options_choose(&chosen, &targets, &group.count);
        group.targets = targets;
        watching.group = &group;
    }
    if (result < 0) {
        free(pids);
        return result;
    }
    watching.stop = group.tracing.each.stop = interrupt_install();
    result = watch(&watching);
    free(targets);
    free(pids);
    return result == -EINVAL ? -EBADMSG : result;
}

static int run(int argc, char **argv)
{
    if (!output.format)
        output.format = "locks";
    int result = report_output_check(&output, path, argc, argv);
    if (result == 0)
        result = inputs_count_once(argc, argv);
    if (result < 0)
        return result;
    if (argc == 0)
        return run_live();
    if (chosen.pids.count || chosen.osds.count || chosen.all)
        return err_set(EINVAL, "say either which daemons or which traces, not both");
    if (seconds > 0 || duty)
        return err_set(EINVAL, "%s is for running daemons", duty ? "--duty" : "-d");
    return report_traces(argc, argv, path, &output);
}

extern const struct command command_locks;
const struct command command_locks = {
    .name = "locks",
    .arguments = "[TRACE...]",
    .summary = "who waits for which lock, who holds it, and what it caps",
    .text =
        "Shows the locks that threads had to wait for: in a running daemon, seen at the futex "
        "without any change to it, or in recorded traces (optrail record --locks, or a daemon that "
        "tells of its locks). Of each lock: waits and holds, how much of the time it is held and "
        "so the most that the daemon can do with it, in which stage it is asked for and what is "
        "done under it, whose stacks wait, and which threads are in the way.\n\n"
        "The report begins with the verdict: what the operations' time goes to in the end, when "
        "queues and locks are followed to what holds them up. docs/locks.md and docs/verdict.md "
        "tell how.\n\n"
        "With --duty the programs that capture waits are in for slices of the time only, each "
        "longer than the longest waits for a lock, and each wait stands for several. On a daemon "
        "that switches its threads often that is what keeps the price low. The probes that follow "
        "a daemon's operations stay in all the time.\n\n"
        "Any process can be watched (-p); of one that is no storage daemon only its locks are "
        "shown.",
    .examples = "optrail locks --osd 0 -d 10\tten seconds of osd.0\n"
                "optrail locks --osd 0 --duty 20% -d 60\ta minute of it, at a fifth of the price\n"
                "optrail locks -p 4711 -d 5\tany process, a client of librbd for example\n"
                "optrail locks trace\tof a recorded trace",
    .options = options,
    .minimum_arguments = 0,
    .maximum_arguments = -1,
    .run = run,
};
