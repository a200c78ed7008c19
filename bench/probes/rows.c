/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "err.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct {
    const char *name;
    const char *text;
} rows[ROW_COUNT] = {
#define ROW(identifier, name, text) {name, text},
    BENCH_ROWS
#undef ROW
};

void print_rows(const struct bench_result *result, FILE *out)
{
    struct utsname host;
    uname(&host);
    fprintf(out, "What a probe costs here: %s, Linux %s, %ld CPUs; medians of %zu rounds\n\n",
            host.machine, host.release, sysconf(_SC_NPROCESSORS_ONLN), result->rounds);
    fprintf(out, "%-52s %9s  %-19s %s\n", "", "ns", "(10 - 90 %)", "to an empty call");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct row_result *row = &result->rows[i];
        if (!row->measured) {
            fprintf(out, "%-52s not measured: %s\n", rows[i].text, row->why);
            continue;
        }
        const struct spread *ns = &row->measurement.ns;
        char range[32];
        snprintf(range, sizeof(range), "(%.1f - %.1f)", ns->low, ns->high);
        fprintf(out, "%-52s %9.1f  %-19s %.1f\n", rows[i].text, ns->median, range,
                row->measurement.ratio.median);
    }
    if (result->rows[ROW_PROBE_LTTNG].measured)
        fprintf(out,
                "\nRecorded by LTTng, an optrail probe costs %.2f times a bare tracepoint "
                "(%.2f - %.2f).\n",
                result->probe_to_bare.median, result->probe_to_bare.low,
                result->probe_to_bare.high);
}

static json_t *json_spread(const struct spread *spread)
{
    return json_pack("{s:f, s:f, s:f}", "median", spread->median, "p10", spread->low, "p90",
                     spread->high);
}

static json_t *json_row(size_t id, const struct row_result *row)
{
    if (!row->measured)
        return json_pack("{s:s, s:s, s:b, s:s}", "name", rows[id].name, "text", rows[id].text,
                         "measured", 0, "reason", row->why);
    return json_pack("{s:s, s:s, s:b, s:I, s:o, s:o}", "name", rows[id].name, "text", rows[id].text,
                     "measured", 1, "calls", (json_int_t)row->measurement.calls, "ns",
                     json_spread(&row->measurement.ns), "ratio_to_empty_call",
                     json_spread(&row->measurement.ratio));
}

int print_rows_json(const struct bench_result *result, FILE *out)
{
    struct utsname host;
    uname(&host);
    json_t *list = json_array();
    for (size_t i = 0; i < ROW_COUNT; i++)
        json_array_append_new(list, json_row(i, &result->rows[i]));
    json_t *root = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o}", "schema", "optrail.bench.probes/1",
                             "machine", host.machine, "kernel", host.release, "cpus",
                             (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "rounds",
                             (json_int_t)result->rounds, "rows", list);
    if (root && result->rows[ROW_PROBE_LTTNG].measured)
        json_object_set_new(root, "probe_to_bare_lttng", json_spread(&result->probe_to_bare));
    int failed = !root || json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0 ||
                 fputc('\n', out) == EOF || fflush(out) == EOF;
    json_decref(root);
    return failed ? err_set(EIO, "cannot write the figures as JSON: %s", strerror(errno)) : 0;
}
