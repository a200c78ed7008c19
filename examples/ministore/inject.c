/* SPDX-License-Identifier: MIT */
#include "inject.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "daemon_log.h"

/* A sleep may end this much late even with a slack of 1 ns: this last part is spun. */
#define SPIN_NS      60000u
#define MAX_DELAY_NS (60 * NS_PER_SECOND)

static const struct {
    const char *name;
    const char *text;
} rows[INJECT_COUNT] = {
#define INJECT_ROW(point, name, text) {name, text},
    INJECT_ROWS(INJECT_ROW)
#undef INJECT_ROW
};

static struct {
    uint64_t delay_ns; /* constant once threads run */
    _Atomic uint64_t count;
    _Atomic uint64_t total_ns;
} accounts[INJECT_COUNT];

void inject_start_process(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
}

void inject_set(enum inject_point point, uint64_t delay_ns)
{
    accounts[point].delay_ns = delay_ns;
}

int inject_parse_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(text, &end);
    if (end == text || !(number >= 0))
        return -1;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        if (number * units[i].ns > (double)MAX_DELAY_NS)
            return -1;
        *ns = (uint64_t)(number * units[i].ns);
        return 0;
    }
    return -1;
}

int inject_parse(const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return log_error("--inject %s: it must read POINT=TIME, for example journal.write=1ms",
                         text);
    for (int i = 0; i < INJECT_COUNT; i++) {
        if (strlen(rows[i].name) != (size_t)(equals - text) ||
            strncmp(rows[i].name, text, (size_t)(equals - text)) != 0)
            continue;
        uint64_t ns;
        if (inject_parse_time(equals + 1, &ns) != 0)
            return log_error("--inject %s: the time must look like 200us, 1ms or 2s, at most 60s",
                             text);
        inject_set((enum inject_point)i, ns);
        return 0;
    }
    return log_error("--inject %s: no such point; --help lists them", text);
}

void inject_delay(enum inject_point point, unsigned ops)
{
    uint64_t delay = accounts[point].delay_ns;
    if (!delay)
        return;
    uint64_t begin = clock_now_ns();
    if (delay > SPIN_NS) {
        struct timespec wake = clock_timespec(begin + delay - SPIN_NS);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0)
            ; /* a signal: go on sleeping */
    }
    uint64_t now;
    while ((now = clock_now_ns()) - begin < delay)
        ;
    atomic_fetch_add_explicit(&accounts[point].count, ops, memory_order_relaxed);
    atomic_fetch_add_explicit(&accounts[point].total_ns, (now - begin) * ops, memory_order_relaxed);
}

void inject_write_json(FILE *file)
{
    const char *separator = "";
    fputc('{', file);
    for (int i = 0; i < INJECT_COUNT; i++) {
        if (!accounts[i].delay_ns)
            continue;
        fprintf(
            file,
            "%s\"%s\":{\"delay_ns\":%" PRIu64 ",\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}",
            separator, rows[i].name, accounts[i].delay_ns, accounts[i].count, accounts[i].total_ns);
        separator = ",";
    }
    fputc('}', file);
}

void inject_write_help(FILE *file)
{
    for (int i = 0; i < INJECT_COUNT; i++)
        fprintf(file, "  %-22s %s\n", rows[i].name, rows[i].text);
}
