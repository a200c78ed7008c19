/* SPDX-License-Identifier: MIT */
/*
 * optrail-bench-probes [--rounds N] [--json FILE]: what `optrail bench probes` runs. A program of
 * its own, because it contains probes: optrail itself shall not look like a traceable daemon.
 */
#include <optrail/probe.h>

#include "bare_calls.h"
#include "err.h"
#include "instructions.h"
#include "lttng_session.h"
#include "name_provider.h"
#include "rows.h"
#include "uprobe_hits.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct bench_result result = {.rounds = 51};
static bare_calls_function *bare_calls;
static bare_enabled_function *bare_enabled;

static void probe_calls(uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        OPTRAIL(op_start, i, 1, 2);
}

static void bare_tracepoint_calls(uint64_t calls)
{
    uint32_t pid = (uint32_t)getpid();
    bare_calls(calls, pid, pid);
}

static void push_calls(uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        function_that_pushes();
}

static void subtract_calls(uint64_t calls)
{
    for (uint64_t i = 0; i < calls; i++)
        function_that_subtracts();
}

static void set_measured(enum row_id id, const struct measurement *measurement)
{
    result.rows[id].measured = true;
    result.rows[id].measurement = *measurement;
}

static void set_not_measured(enum row_id id, const char *why)
{
    result.rows[id].measured = false;
    snprintf(result.rows[id].why, sizeof(result.rows[id].why), "%s", why);
}

/* The site in the function that emits op_start: a 1-byte nop and the 5-byte nop behind it. */
static const uint8_t *find_site(void)
{
    static const uint8_t site[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    enum { SEARCHED_BYTES = 256 };
    const uint8_t *code = (const uint8_t *)optrail_emit_op_start;
    return memmem(code, SEARCHED_BYTES, site, sizeof(site));
}

static void measure_uprobe(enum row_id id, const void *address, const volatile void *semaphore,
                           measured_calls *calls)
{
    struct uprobe_hits *uprobe = NULL;
    if (!address) {
        set_not_measured(id, "there is no such instruction on this processor");
        return;
    }
    if (uprobe_hits_open(address, semaphore, &uprobe) < 0) {
        set_not_measured(id, err_message());
        return;
    }
    struct measurement measurement;
    measure(&calls, 1, result.rounds, &measurement, NULL);
    uint64_t hits = uprobe_hits_count(uprobe);
    uprobe_hits_close(uprobe);
    if (hits == measurement.calls) {
        set_measured(id, &measurement);
        return;
    }
    char why[128];
    snprintf(why, sizeof(why), "%llu hits in %llu calls", (unsigned long long)hits,
             (unsigned long long)measurement.calls);
    set_not_measured(id, why);
}

static void measure_uprobes(void)
{
    const uint8_t *site = find_site();
    const volatile void *semaphore = &optrail_op_start_semaphore;
    measure_uprobe(ROW_USDT_NOP1, site, semaphore, probe_calls);
    measure_uprobe(ROW_USDT_NOP5, site ? site + 1 : NULL, semaphore, probe_calls);
    measure_uprobe(ROW_UPROBE_PUSH, (const void *)function_that_pushes, NULL, push_calls);
    measure_uprobe(ROW_UPROBE_SUB, (const void *)function_that_subtracts, NULL, subtract_calls);
}

/* The module lies beside the program. */
static int load_bare_tracepoint(void)
{
    char program[PATH_MAX];
    char file[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length < 0)
        return err_set(errno, "cannot tell where the program lies: %s", strerror(errno));
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(file, sizeof(file), "%s/optrail-bare-tracepoint.so", program);
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module)
        return err_set(ENOENT, "no bare tracepoint: %s", dlerror());
    bare_calls = (bare_calls_function *)dlsym(module, BARE_CALLS);
    bare_enabled = (bare_enabled_function *)dlsym(module, BARE_ENABLED);
    if (!bare_calls || !bare_enabled)
        return err_set(ENOENT, "%s is not what it should be", file);
    return 0;
}

static bool is_recorded(void)
{
    return OPTRAIL_ENABLED(op_start) && bare_enabled();
}

static bool is_not_recorded(void)
{
    return !OPTRAIL_ENABLED(op_start) && !(bare_enabled && bare_enabled());
}

/* LTTng's own thread in this process turns the events on and off. */
static bool wait_until(bool (*condition)(void))
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < 500 && !condition(); i++)
        nanosleep(&step, NULL);
    return condition();
}

static void measure_disabled(void)
{
    measured_calls *const subjects[] = {measure_empty_calls, probe_calls, bare_tracepoint_calls};
    const enum row_id ids[] = {ROW_EMPTY, ROW_PROBE_OFF, ROW_BARE_OFF};
    size_t count = bare_calls ? 3 : 2;
    if (!wait_until(is_not_recorded)) {
        for (size_t i = 0; i < 3; i++)
            set_not_measured(ids[i], "a session goes on recording this program");
        return;
    }
    if (!bare_calls)
        set_not_measured(ROW_BARE_OFF, result.rows[ROW_BARE_LTTNG].why);
    struct measurement measurements[3];
    measure(subjects, count, result.rounds, measurements, NULL);
    for (size_t i = 0; i < count; i++)
        set_measured(ids[i], &measurements[i]);
}

/* With a recording session: ours and the bare one in turns. */
static int measure_recorded(void)
{
    int error = load_bare_tracepoint();
    if (error < 0)
        return error;
    name_provider();
    if (!optrail_probes_start())
        return err_set(ENOENT, "no optrail-provider.so for this program was found");
    if (!wait_until(is_recorded))
        return err_set(EIO, "the session does not record this program");
    measured_calls *const subjects[] = {bare_tracepoint_calls, probe_calls};
    struct measurement measurements[2];
    struct spread to_bare[2];
    measure(subjects, 2, result.rounds, measurements, to_bare);
    if (!is_recorded())
        return err_set(EIO, "the recording stopped under way");
    set_measured(ROW_BARE_LTTNG, &measurements[0]);
    set_measured(ROW_PROBE_LTTNG, &measurements[1]);
    result.probe_to_bare = to_bare[1];
    return 0;
}

/* The session comes first: LTTng's threads, which come with the modules, must see its sockets. */
static void measure_lttng(void)
{
    static const char *const events[] = {"optrail:*", "optrail_bench:*", NULL};
    char output[] = "/tmp/optrail-bench-XXXXXX";
    struct lttng_session_options options = {
        .output = output, .events = events, .subbuffer_bytes = 1 << 20, .in_memory = true};
    struct lttng_session *session = NULL;
    if (!mkdtemp(output)) {
        set_not_measured(ROW_PROBE_LTTNG, "no temporary directory in /tmp");
        set_not_measured(ROW_BARE_LTTNG, "no temporary directory in /tmp");
        return;
    }
    int error = lttng_session_open(&options, &session);
    if (error == 0)
        error = measure_recorded();
    if (error < 0) {
        set_not_measured(ROW_PROBE_LTTNG, err_message());
        set_not_measured(ROW_BARE_LTTNG, err_message());
    }
    lttng_session_close(session);
    rmdir(output);
}

/* On one CPU: a move to another in the midst would be measured as cost. */
static void stay_on_this_cpu(void)
{
    int cpu = sched_getcpu();
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (cpu >= 0)
        CPU_SET(cpu, &cpus);
    if (cpu < 0 || sched_setaffinity(0, sizeof(cpus), &cpus))
        fprintf(stderr, "optrail bench: cannot stay on one CPU, the figures will wobble\n");
}

static int write_json(const char *file)
{
    if (strcmp(file, "-") == 0)
        return print_rows_json(&result, stdout);
    FILE *out = fopen(file, "w");
    if (!out)
        return err_set(errno, "cannot write %s: %s", file, strerror(errno));
    int error = print_rows_json(&result, out);
    if (fclose(out) && error == 0)
        error = err_set(errno, "cannot write %s: %s", file, strerror(errno));
    return error;
}

static int usage(void)
{
    fprintf(stderr, "usage: optrail-bench-probes [--rounds N (3 to %d)] [--json FILE]\n",
            MEASURE_ROUNDS_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'}, {"json", required_argument, NULL, 'j'}, {0}};
    const char *json = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "r:j:", options, NULL)) != -1) {
        if (option == 'r')
            result.rounds = strtoul(optarg, NULL, 10) | 1;
        else if (option == 'j')
            json = optarg;
        else
            return usage();
    }
    if (optind != argc || result.rounds < 3 || result.rounds > MEASURE_ROUNDS_MAX)
        return usage();

    stay_on_this_cpu();
    measure_lttng();
    measure_disabled();
    measure_uprobes();

    int error = 0;
    if (!json || strcmp(json, "-") != 0)
        print_rows(&result, stdout);
    if (json)
        error = write_json(json);
    if (error < 0)
        fprintf(stderr, "optrail bench: %s\n", err_message());
    return error < 0 || fflush(stdout) ? 1 : 0;
}
