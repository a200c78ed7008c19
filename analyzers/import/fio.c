/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fio_shape.h"
#include "import_private.h"
#include "scan.h"
#include "tolerant_json.h"

/* fio's text of versions 2 and 3, and its JSON. Every block of figures names its own unit. */
struct fio {
    struct import *import;
    const struct evidence *evidence;
    char job[80];
    const char *direction; /* a literal; "" before the first */
    char source[200];
    size_t declared, jobs, figures;
    double iops, latency, depth, in_flight, bandwidth, percentile_unit, last_percentile, last_value,
        block, p50, p99;
    bool in_percentiles;
    struct fio_shape percentiles, shares;
};

/* Gives the figure, and returns it; one that cannot be is counted, and is 0. */
static double figure(struct fio *fio, const char *name, double value, const char *unit)
{
    if (!import_figure(fio->import, fio->source, name, value, unit))
        return 0;
    fio->figures++;
    return value;
}

/* "1.5k", "47.5K", "7753.9k": fio's suffixes are decimal here. */
static bool scaled_after(const char *line, const char *key, double *number)
{
    const char *at = strstr(line, key), *end;

    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " =:");
    if (!scan_number(at, number, &end))
        return false;
    if (*end == 'k' || *end == 'K')
        *number *= 1e3;
    else if (*end == 'm' || *end == 'M')
        *number *= 1e6;
    return true;
}

/* Bytes a second: "148MiB/s", "259KiB/s", "6,5MB/s". */
static bool bandwidth_after(const char *line, const char *key, double *number)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"KiB/s", 1024}, {"MiB/s", 1048576}, {"GiB/s", 1073741824}, {"KB/s", 1024},
                 {"kB/s", 1000},  {"MB/s", 1048576},  {"GB/s", 1073741824},  {"B/s", 1}};
    const char *at = strstr(line, key), *end;

    if (!at || !scan_number(at + strlen(key), number, &end))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strncmp(end, units[i].unit, strlen(units[i].unit)) == 0) {
            *number *= units[i].bytes;
            return true;
        }
    }
    return false;
}

/* Seconds that the unit in "(usec)" stands for; 0: none is there. */
static double unit_of(const char *line)
{
    return strstr(line, "(nsec)")   ? 1e-9
           : strstr(line, "(usec)") ? 1e-6
           : strstr(line, "(msec)") ? 1e-3
           : strstr(line, "(sec)")  ? 1
                                    : 0;
}

/* To be compared with what the same workload did in another file. */
static void add_run(struct fio *fio)
{
    struct import_run run = {.kind = "fio", .rate = fio->iops, .latency_s = fio->latency};

    if (fio->iops <= 0)
        return;
    snprintf(run.source, sizeof(run.source), "%.159s", fio->source);
    snprintf(run.file, sizeof(run.file), "%.95s", fio->evidence->name);
    snprintf(run.workload, sizeof(run.workload), "%s %s", fio->job, fio->direction);
    import_add_run(fio->import, &run);
}

/* How many took at most so long, in one sentence. */
static void say_shares(struct fio *fio)
{
    char words[400];

    fio_shape_words(&fio->shares, words, sizeof(words));
    if (*words && fio->percentiles.count == 0)
        import_say(fio->import, "shares", "%s: %s.", fio->source, words);
}

static void end_block(struct fio *fio)
{
    if (fio->in_percentiles && fio->last_percentile < 99.99)
        import_note(fio->import, "%s: the percentiles are cut: the last one is %g %%", fio->source,
                    fio->last_percentile);
    if (fio->iops > 0 && fio->latency > 0)
        fio->in_flight += figure(fio, "in_flight.mean", fio->iops * fio->latency, "ops");
    if (fio->iops > 0 && fio->bandwidth > 0)
        fio->block = fio->bandwidth / fio->iops;
    if (fio->p50 > 0 && fio->latency > 3 * fio->p50 / 2)
        import_say(fio->import, "tail",
                   "%s: the mean of %.3g ms is far above the median of %.3g ms: few slow ops make "
                   "it (99 %%: %.3g ms).",
                   fio->source, fio->latency * 1e3, fio->p50 * 1e3, fio->p99 * 1e3);
    fio_shape_say_populations(&fio->percentiles, fio->import, fio->source);
    say_shares(fio);
    add_run(fio);
    fio->percentiles.count = fio->shares.count = 0;
    fio->iops = fio->latency = fio->bandwidth = fio->p50 = fio->p99 = fio->last_percentile =
        fio->last_value = 0;
    fio->in_percentiles = false;
}

static void end_job(struct fio *fio)
{
    end_block(fio);
    bool large = fio->block >= 1048576;
    bool one = fio->in_flight >= 0.995 && fio->in_flight < 1.05; /* as it is printed */
    if (fio->depth > 0 && fio->in_flight > 1.2 * fio->depth)
        import_say(fio->import, "contradiction",
                   "%s: by Little's law %.3g ops were in flight, and the depth is %.0f.",
                   fio->source, fio->in_flight, fio->depth);
    else if (fio->in_flight > 0)
        import_say(fio->import, "depth",
                   "%s, %s: about %.2g op%s of %.2g %s %s in flight on average (Little's law)%s",
                   fio->evidence->name, *fio->job ? fio->job : "a job without a head",
                   fio->in_flight, one ? "" : "s", large ? fio->block / 1048576 : fio->block / 1024,
                   large ? "MiB" : "KiB", one ? "was" : "were",
                   large ? ": bound by bandwidth." : ".");
    fio->in_flight = 0;
}

static void begin_block(struct fio *fio, const char *direction)
{
    end_block(fio);
    fio->direction = direction;
    snprintf(fio->source, sizeof(fio->source), "%.90s, %s%s%s", fio->evidence->name,
             *fio->job ? fio->job : "fio", *direction ? ", " : "", direction);
}

/* `value` in seconds. */
static void take_percentile(struct fio *fio, double percent, double value)
{
    char name[32];
    size_t before = fio->figures;

    snprintf(name, sizeof(name), "latency.p%g", percent);
    value = figure(fio, name, percent >= 0 && percent <= 100 ? value : NAN, "s");
    if (fio->figures == before)
        return;
    if (percent > fio->last_percentile && value < fio->last_value)
        import_say(fio->import, "contradiction",
                   "%s: the percentiles fall: %g s at %g %%, %g s at %g %%.", fio->source,
                   fio->last_value, fio->last_percentile, value, percent);
    fio->last_value = value;
    fio->last_percentile = percent;
    fio_shape_add(&fio->percentiles, percent / 100, value);
    if (percent == 50)
        fio->p50 = value;
    if (percent == 99)
        fio->p99 = value;
}

static void take_percentiles(struct fio *fio, const char *line)
{
    const char *at = line;

    while ((at = strstr(at, "th=["))) {
        const char *start = at, *end;
        double percent, value;
        while (start > line && strchr("0123456789.,", start[-1]))
            start--;
        at += 4;
        if (!scan_number(start, &percent, &end) || !scan_number(at, &value, &end) ||
            end[strspn(end, " ")] != ']')
            continue;
        take_percentile(fio, percent, value * fio->percentile_unit);
    }
}

/* fio rounds what it prints to three digits, so a mean may look a little larger than it is. */
static void check_mean(struct fio *fio, const char *kind, double mean, double most)
{
    if (most > 0 && mean > 1.01 * most)
        import_say(fio->import, "contradiction",
                   "%s: the mean of %s, %g s, is above the maximum, %g s.", fio->source, kind, mean,
                   most);
}

static void take_latency(struct fio *fio, const char *line)
{
    const char *kind = scan_begins(line, "slat")   ? "submit"
                       : scan_begins(line, "clat") ? "complete"
                                                   : "latency";
    double unit = unit_of(line), mean = 0, most = 0;
    char name[48];

    if (scaled_after(line, "avg=", &mean)) {
        snprintf(name, sizeof(name), "%s.mean", kind);
        mean = figure(fio, name, mean * unit, "s");
    }
    if (scaled_after(line, "max=", &most)) {
        snprintf(name, sizeof(name), "%s.max", kind);
        most = figure(fio, name, most * unit, "s");
    }
    check_mean(fio, kind, mean, most);
    if (strcmp(kind, "submit") != 0)
        fio->latency = mean;
}

/* "lat (msec) : 2=0.27%, 4=22.05%": how many took at most that long. */
static void take_shares(struct fio *fio, const char *line)
{
    double unit = unit_of(line), bound, share;
    const char *at = strchr(line, ':');

    if (!*fio->source)
        begin_block(fio, "");
    while (at && *at && unit > 0) {
        const char *end;
        char name[48], *stop;
        at += strcspn(at, "0123456789");
        bound = strtod(at, &stop);
        if (stop == at || *stop != '=' || !scan_number(stop + 1, &share, &end) || *end != '%')
            break;
        snprintf(name, sizeof(name), "share.bucket.%gms", bound * unit * 1e3);
        fio_shape_add(&fio->shares, figure(fio, name, share, "%") / 100, bound * unit);
        at = end;
    }
}

static void take_job(struct fio *fio, const char *line)
{
    end_job(fio);
    line += strspn(line, " \t");
    snprintf(fio->job, sizeof(fio->job), "%.*s", (int)strcspn(line, ":"), line);
    fio->jobs++;
}

static const char *direction_of(const char *line)
{
    static const char *const names[] = {"read", "write", "trim"};

    for (size_t i = 0; i < 3; i++)
        if (scan_begins(line, names[i]) &&
            strchr(" :", line[strspn(line, " \t") + strlen(names[i])]))
            return names[i];
    return NULL;
}

static void take_line(struct fio *fio, const char *line)
{
    const char *direction = direction_of(line);
    double value;

    if (strstr(line, "(g=") && strstr(line, "rw=")) {
        fio->declared++;
        scan_after(line, "iodepth=", &fio->depth);
    } else if (strstr(line, "(groupid=")) {
        take_job(fio, line);
    } else if ((direction && (strstr(line, "IOPS=") || strstr(line, "iops="))) ||
               scan_begins(line, "iops:") || scan_begins(line, "iops :")) {
        if (direction == NULL && *fio->source && strstr(line, "min="))
            return; /* the block's own statistics */
        begin_block(fio, direction ? direction : "");
        if (scaled_after(line, "IOPS=", &fio->iops) || scaled_after(line, "iops=", &fio->iops) ||
            scaled_after(line, "iops:", &fio->iops))
            fio->iops = figure(fio, "rate", fio->iops, "op/s");
        if (bandwidth_after(line, "BW=", &value) || bandwidth_after(line, "bw=", &value))
            fio->bandwidth = figure(fio, "bandwidth", value, "B/s");
    } else if (strstr(line, "percentiles (")) {
        if (!*fio->source)
            begin_block(fio, "");
        fio->percentile_unit = unit_of(line);
        fio->in_percentiles = fio->percentile_unit > 0;
    } else if (fio->in_percentiles && strstr(line, "th=[")) {
        take_percentiles(fio, line);
    } else if ((scan_begins(line, "lat (") || scan_begins(line, "slat (") ||
                scan_begins(line, "clat (")) &&
               unit_of(line) > 0) {
        if (strstr(line, "avg=") && *fio->source)
            take_latency(fio, line);
        else if (strchr(line, '%'))
            take_shares(fio, line);
    }
}

/* The latencies of a direction in JSON: version 3 has ns, version 2 µs. */
static void take_json_latency(struct fio *fio, const struct tolerant_node *side)
{
    double unit = 1e-9, value, most = 0;
    const struct tolerant_node *lat = tolerant_child(side, "lat_ns");
    const struct tolerant_node *clat = tolerant_child(side, "clat_ns");

    if (!lat && !clat) {
        unit = 1e-6;
        lat = tolerant_child(side, "lat");
        clat = tolerant_child(side, "clat");
    }
    if (lat && tolerant_number(lat, "mean", &value)) {
        fio->latency = figure(fio, "latency.mean", value * unit, "s");
        if (tolerant_number(lat, "max", &most))
            check_mean(fio, "latency", fio->latency, most * unit);
    }
    const struct tolerant_node *list = clat ? tolerant_child(clat, "percentile") : NULL;
    for (const struct tolerant_node *node = list ? list->first : NULL; node; node = node->next) {
        double percent = strtod(node->key, NULL);
        if (percent > 0 && node->type == TOLERANT_NUMBER)
            take_percentile(fio, percent, node->number * unit);
    }
}

/* A direction of a job in JSON; one in which nothing was done has a rate of 0. */
static size_t take_json(struct fio *fio, const struct tolerant_node *job, const char *direction)
{
    const struct tolerant_node *side = tolerant_child(job, direction);
    double rate, value;

    if (!side || !tolerant_number(side, "iops", &rate) || rate == 0)
        return 0;
    begin_block(fio, direction);
    fio->iops = figure(fio, "rate", rate, "op/s");
    if (tolerant_number(side, "bw", &value))
        fio->bandwidth = figure(fio, "bandwidth", value * 1024, "B/s");
    take_json_latency(fio, side);
    return 1;
}

static void read_json(struct fio *fio)
{
    for (const struct tolerant_node *node = tolerant_root(fio->evidence->json); node;
         node = node->all) {
        const char *name = node->type == TOLERANT_LIST ? tolerant_text(node, "jobname") : "";
        if (!*name || !(tolerant_child(node, "read") || tolerant_child(node, "write")))
            continue;
        snprintf(fio->job, sizeof(fio->job), "%.79s", name);
        if (take_json(fio, node, "read") + take_json(fio, node, "write"))
            end_job(fio);
    }
}

size_t read_fio(struct import *import, const struct evidence *evidence)
{
    struct fio fio = {.import = import, .evidence = evidence, .direction = ""};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    while (scan_line(&at, line))
        take_line(&fio, line);
    end_job(&fio);
    if (fio.jobs > 0 && fio.declared > fio.jobs)
        import_note(import, "%s: %zu jobs were begun, %zu of them %s missing", evidence->name,
                    fio.declared, fio.declared - fio.jobs,
                    fio.declared - fio.jobs == 1 ? "is" : "are");
    fio.depth = 0;
    read_json(&fio);
    return fio.figures;
}
