/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"

/* Rows of osdtrace: words and values, latencies in µs. Its rows bear no time. */
struct osdtrace {
    struct import *import;
    const struct evidence *evidence;
    size_t rows, unusable, peers;
    double slowest, slowest_store;
    char slowest_type[32];
};

static void add_us(struct import_op *op, const char *stage, const char *kind, double us)
{
    if (us > 0 && us < 1e12)
        *import_stage(op, stage, kind) += (uint64_t)(us * 1e3);
}

/* `latency` is a pair of the row's kind and what it is called at its end. */
static bool take_osdtrace(struct osdtrace *trace, const char *line)
{
    double throttle, recv, dispatch, queue, osd, store, whole;
    struct import_op op = {0};
    bool replica = strstr(line, " subop_") != NULL;

    if (!strstr(line, "_lat ") || !strstr(line, "throttle_lat") ||
        !scan_after(line, "recv_lat", &recv) || !scan_after(line, "throttle_lat", &throttle) ||
        !scan_after(line, "dispatch_lat", &dispatch) || !scan_after(line, "queue_lat", &queue) ||
        !scan_after(line, " osd_lat", &osd) || !scan_after(line, "bluestore_lat", &store) ||
        !(scan_after(line, " op_lat", &whole) || scan_after(line, "subop_lat", &whole)) ||
        strstr(line, "...") || whole < 0 || whole > 1e12)
        return false;
    snprintf(op.type, sizeof(op.type), "%s",
             replica                  ? "replica write"
             : strstr(line, " op_w ") ? "write"
                                      : "read");
    /* the throttle's time lies within receiving */
    add_us(&op, "messenger.throttle", "throttle", throttle);
    add_us(&op, "messenger.recv", "net", recv > throttle ? recv - throttle : 0);
    add_us(&op, "messenger.dispatch", "wait", dispatch);
    add_us(&op, "opqueue.wait", "wait", queue);
    add_us(&op, "osd.prepare", "work", osd);
    add_us(&op, "bluestore.commit", "io", store);
    op.latency_ns = (uint64_t)(whole * 1e3);
    double value;
    if (scan_after(line, "client", &value) && value >= 0 && value < 1e18)
        op.client = (uint64_t)value;
    if (scan_after(line, "tid", &value) && value >= 0 && value < 1e18)
        op.tid = (uint64_t)value;
    if (recv + dispatch + queue + osd + store > whole * 1.01 + 1)
        import_say(trace->import, "contradiction",
                   "%s: a row's stages are %.0f µs together, and it says %.0f µs in all.",
                   trace->evidence->name, recv + dispatch + queue + osd + store, whole);
    trace->peers += strstr(line, "peers [") != NULL;
    if (strcmp(op.type, "write") == 0 && whole > trace->slowest) {
        trace->slowest = whole;
        trace->slowest_store = store;
    }
    import_add_op(trace->import, &op);
    return true;
}

size_t read_osdtrace(struct import *import, const struct evidence *evidence)
{
    struct osdtrace trace = {.import = import, .evidence = evidence};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    while (scan_line(&at, line)) {
        if (take_osdtrace(&trace, line))
            trace.rows++;
        else
            trace.unusable += strstr(line, "_lat ") != NULL;
    }
    import_count(import, "rows_unusable", trace.unusable);
    if (trace.slowest > 0)
        import_say(import, "stage", "%s: BlueStore is %.3g of the %.4g ms of the slowest write.",
                   evidence->name, trace.slowest_store / 1e3, trace.slowest / 1e3);
    if (trace.peers)
        import_note(import,
                    "%s: the peers' times overlap the primary's own and are not added to it",
                    evidence->name);
    if (trace.rows)
        import_note(import, "%s: the rows bear no time: rates cannot be told", evidence->name);
    return trace.rows;
}

#define MOST_SLOW 128 /* OSDs that are counted */

struct radostrace {
    struct import *import;
    const struct evidence *evidence;
    size_t rows, unusable;
    struct {
        size_t rows, osds[MOST_SLOW];
    } slow[2];
};

/* What is slow for a client, µs. */
static const double slow_bounds[2] = {400e3, 100e3};

/* Cuts a CSV line in place; a field in quotes may hold commas. */
static size_t cut(char *line, char **fields, size_t most)
{
    size_t count = 0;
    char *at = line;

    while (count < most) {
        bool quoted = *at == '"';
        fields[count++] = at += quoted;
        at += quoted ? strcspn(at, "\"") : strcspn(at, ",");
        if (quoted && *at == '"')
            *at++ = '\0';
        at += strcspn(at, ",");
        if (!*at)
            break;
        *at++ = '\0';
    }
    return count;
}

static void count_acting(struct radostrace *trace, const char *acting, double latency)
{
    for (size_t i = 0; i < 2; i++) {
        if (latency <= slow_bounds[i])
            continue;
        trace->slow[i].rows++;
        for (const char *at = acting; *at;) {
            char *end;
            at += strcspn(at, "0123456789");
            unsigned long osd = strtoul(at, &end, 10);
            if (end != at && osd < MOST_SLOW)
                trace->slow[i].osds[osd]++;
            at = end;
        }
    }
}

/* pid,client,tid,pool,pg,acting,WR,size,latency,object,ops,offset,length */
static bool take_radostrace(struct radostrace *trace, char *line)
{
    char *fields[13] = {NULL}, *end;
    struct import_op op = {0};

    if (cut(line, fields, 13) < 11 || !strchr("WR", *fields[6]) || *fields[5] != '[')
        return false;
    double latency = strtod(fields[8], &end);
    if (end == fields[8] || *end || !(latency >= 0 && latency < 1e12))
        return false;
    snprintf(op.type, sizeof(op.type), "%s", *fields[6] == 'R' ? "client read" : "client write");
    op.client = strtoull(fields[1], NULL, 10);
    op.tid = strtoull(fields[2], NULL, 10);
    op.latency_ns = (uint64_t)(latency * 1e3);
    op.bytes = strtoull(fields[7], &end, 10);
    op.sized = end != fields[7] && !*end && *fields[7] != '-' && op.bytes <= UINT64_C(1) << 40;
    count_acting(trace, fields[5], latency);
    import_add_op(trace->import, &op);
    return true;
}

static void say_slow(struct radostrace *trace)
{
    for (size_t i = 0; i < 2; i++) {
        size_t most = 0;
        for (size_t osd = 1; osd < MOST_SLOW; osd++)
            if (trace->slow[i].osds[osd] > trace->slow[i].osds[most])
                most = osd;
        if (trace->slow[i].rows > 1 && trace->slow[i].osds[most] > 1)
            import_say(trace->import, "peer",
                       "%s: osd.%zu is in the acting set of %zu of the %zu ops over %.0f ms.",
                       trace->evidence->name, most, trace->slow[i].osds[most], trace->slow[i].rows,
                       slow_bounds[i] / 1e3);
    }
}

size_t read_radostrace(struct import *import, const struct evidence *evidence)
{
    struct radostrace trace = {.import = import, .evidence = evidence};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    while (scan_line(&at, line)) {
        bool row = line[0] >= '0' && line[0] <= '9' && strstr(line, ",\"[");
        if (row && take_radostrace(&trace, line))
            trace.rows++;
        else
            trace.unusable += row;
    }
    import_count(import, "rows_unusable", trace.unusable);
    say_slow(&trace);
    if (trace.rows)
        import_note(import,
                    "%s: the rows bear no time: rates cannot be told; the slow ops' acting "
                    "sets are what they share, not a cause",
                    evidence->name);
    return trace.rows;
}
