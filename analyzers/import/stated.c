/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "import_private.h"
#include "scan.h"

/*
 * Figures that people state in a sentence, without a tool's output:
 *
 *   4 KiB random read, queue depth 256
 *   without cache tier: 1021 IOPS, latency about 3000 ms
 *   read 5000 objects, async messenger: 3.155506 3.134961 3.135814 s
 *
 * Rate, latency and depth must obey Little's law; times of the same work are compared.
 */
#define MOST_TIMINGS 64

struct timing {
    char work[96], how[96]; /* before and behind the first comma */
    double mean;
};

struct stated {
    struct import *import;
    const struct evidence *evidence;
    double depth;
    size_t found, timing_count;
    struct timing timings[MOST_TIMINGS];
};

/* What a unit stands for; 0: none that is known. */
static double unit_of(const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"msec", 1e-3}, {"us", 1e-6}, {"usec", 1e-6}, {"s", 1}, {"sec", 1}};
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].unit) == length && strncmp(text, units[i].unit, length) == 0)
            return units[i].seconds;
    return 0;
}

/* The number in front of "IOPS". */
static bool rate_in(const char *line, double *rate)
{
    const char *at = strcasestr(line, " IOPS"), *start = at, *end;

    while (start && start > line && (isdigit((unsigned char)start[-1]) || start[-1] == '.'))
        start--;
    return start && start != at && scan_number(start, rate, &end) && end == at && *rate > 0 &&
           *rate < 1e10;
}

/* The time behind "latency", with a word or two between. */
static bool latency_in(const char *line, double *seconds)
{
    const char *at = strcasestr(line, "latency"), *end;

    if (!at)
        return false;
    at += strlen("latency");
    size_t between = strcspn(at, "0123456789");
    if (between > 16 || !scan_number(at + between, seconds, &end))
        return false;
    *seconds *= unit_of(end + strspn(end, " "));
    return *seconds > 0 && *seconds < 1e6;
}

static void take_rate(struct stated *stated, const char *line)
{
    double rate, latency;
    char source[160];

    if (!rate_in(line, &rate) || !latency_in(line, &latency))
        return;
    const char *text = line + strspn(line, " \t-*");
    snprintf(source, sizeof(source), "%.70s, %.*s", stated->evidence->name,
             (int)strcspn(text, ":") < 60 ? (int)strcspn(text, ":") : 60, text);
    stated->found++;
    import_figure(stated->import, source, "rate", rate, "op/s");
    import_figure(stated->import, source, "latency.mean", latency, "s");
    import_figure(stated->import, source, "in_flight.mean", rate * latency, "ops");
    if (stated->depth > 0 && rate * latency > 1.1 * stated->depth)
        import_say(stated->import, "contradiction",
                   "%s: %.6g op/s of %.4g ms each are %.4g ops in flight by Little's law, and the "
                   "depth is %.0f: a figure is wrong, or about %.2g such jobs ran at once.",
                   source, rate, latency * 1e3, rate * latency, stated->depth,
                   rate * latency / stated->depth);
}

/* "WORK, HOW: 4.46 4.39 4.45 s": at least two times and their unit. */
static void take_timing(struct stated *stated, const char *line)
{
    struct timing timing = {.mean = 0};
    const char *colon = strchr(line, ':'), *at = colon ? colon + 1 : line;
    size_t count = 0;
    double value, sum = 0;

    line += strspn(line, " \t-*");
    if (!colon || colon <= line || !isalpha((unsigned char)*line))
        return;
    while (scan_number(at, &value, &at) && value > 0) {
        sum += value;
        count++;
    }
    at += strspn(at, " \t");
    double unit = unit_of(at);
    if (count < 2 || unit <= 0 || at[strspn(at, "abcdefghijklmnopqrstuvwxyz. \t")])
        return;
    timing.mean = unit * sum / (double)count;
    size_t length = (size_t)(colon - line), work = strcspn(line, ",");
    if (work > length)
        work = length;
    snprintf(timing.work, sizeof(timing.work), "%.*s", (int)work, line);
    const char *how = line + work + (work < length);
    how += strspn(how, " ");
    snprintf(timing.how, sizeof(timing.how), "%.*s", how < colon ? (int)(colon - how) : 0, how);
    char name[200];
    snprintf(name, sizeof(name), "%s%s%s", timing.work, *timing.how ? ", " : "", timing.how);
    stated->found++;
    if (!import_figure(stated->import, stated->evidence->name, name, timing.mean, "s"))
        return;
    if (stated->timing_count == MOST_TIMINGS)
        import_count(stated->import, "rows_unusable", 1);
    else
        stated->timings[stated->timing_count++] = timing;
}

/* Against the first of the same work. */
static void compare(const struct stated *stated, const struct timing *timing)
{
    const struct timing *first = stated->timings;

    while (first < timing && strcmp(first->work, timing->work) != 0)
        first++;
    if (first == timing || strcmp(first->how, timing->how) == 0)
        return;
    bool faster = timing->mean <= first->mean;
    import_say(stated->import, "compare",
               "%s: %s: %s takes %.4g s on average, %.3g times %s as %s "
               "with %.4g s.",
               stated->evidence->name, timing->work, timing->how, timing->mean,
               faster ? first->mean / timing->mean : timing->mean / first->mean,
               faster ? "as fast" : "as long", first->how, first->mean);
}

size_t read_stated(struct import *import, const struct evidence *evidence)
{
    struct stated stated = {.import = import, .evidence = evidence};
    const char *at = evidence->text, *depth;
    char line[SCAN_LINE];
    double value;

    while (scan_line(&at, line)) {
        if ((depth = strcasestr(line, "depth")) && scan_after(depth + 5, "", &value) &&
            value >= 1 && value < 1e6)
            stated.depth = value;
        take_rate(&stated, line);
        take_timing(&stated, line);
    }
    for (size_t i = 1; i < stated.timing_count; i++)
        compare(&stated, &stated.timings[i]);
    return stated.found;
}
