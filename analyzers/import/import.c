/* SPDX-License-Identifier: MIT */
#include "import_private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "histogram.h"
#include "scan.h"
#include "text_repair.h"
#include "told_ops.h"
#include "tolerant_json.h"

#define SHOWN_OPS  5   /* exemplars */
#define MOST_TYPES 256 /* of ops; those of further ones are counted together */

const struct import_format import_formats[] = {
    {"optracker", "dump_historic_ops and its relatives", read_optracker},
    {"rados-bench", "rados bench", read_rados_bench},
    {"rbd-bench", "rbd bench, rbd bench-write", read_rbd_bench},
    {"fio", "fio 2 and 3, text or JSON", read_fio},
    {"slow-requests", "the OSD's and the cluster's log", read_slow_requests},
    {"perf-dump", "a daemon's perf dump", read_perf_dump},
    {"osd-perf", "ceph osd perf", read_osd_perf},
    {"osdtrace", "rows of osdtrace", read_osdtrace},
    {"radostrace", "radostrace as CSV", read_radostrace},
    {"perf", "flat reports of perf", read_perf_text},
    {"stated", "figures in sentences: IOPS and latency at a depth, work and its seconds",
     read_stated},
    {0},
};

struct stage_sum {
    const char *name, *kind;
    struct histogram histogram;
};

struct type_sum {
    char type[64];
    uint64_t bytes, sized; /* of so many ops */
    struct histogram histogram;
    size_t stage_count;
    struct stage_sum *stages[IMPORT_STAGES];
};

struct count {
    const char *name;
    uint64_t value;
};

struct import {
    struct report *report;
    int result;
    size_t type_count;
    struct type_sum **types;
    struct import_op slowest[SHOWN_OPS];
    size_t slowest_count;
    struct count counts[32], incomplete[8];
    size_t run_count;
    struct import_run *runs;
    struct told_ops told;
};

const struct import_format *import_format_by_name(const char *name)
{
    char names[256] = "";

    for (const struct import_format *row = import_formats; row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, ", %s", row->name);
    }
    err_set(EINVAL, "nothing that is called '%.32s' can be imported: choose auto%s", name, names);
    return NULL;
}

int import_new(struct report *report, struct import **import)
{
    *import = calloc(1, sizeof(**import));
    if (!*import)
        return err_no_memory();
    (*import)->report = report;
    return report_set_string(&report->source.kind, "import");
}

void import_free(struct import *import)
{
    if (!import)
        return;
    for (size_t i = 0; i < import->type_count; i++) {
        for (size_t j = 0; j < import->types[i]->stage_count; j++)
            free(import->types[i]->stages[j]);
        free(import->types[i]);
    }
    free(import->types);
    free(import->runs);
    told_ops_free(&import->told);
    free(import);
}

static void keep(struct import *import, int result)
{
    if (result < 0 && import->result == 0)
        import->result = result;
}

bool import_told_again(struct import *import, uint64_t key)
{
    int again = told_ops_add(&import->told, key);

    keep(import, again);
    import_count(import, "ops_told_again", again == 1);
    return again == 1;
}

/* No figure of this unit is larger: eleven days, rates that nothing has, what 60 bits count. */
double import_largest(const char *unit)
{
    static const struct {
        const char *unit;
        double most;
    } rows[] = {{"s", 1e6},   {"op/s", 1e10}, {"B/s", 1e15}, {"MB/s", 1e9},
                {"ops", 1e9}, {"%", 100},     {"B", 1e15}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].unit, unit) == 0)
            return rows[i].most;
    return 1e18;
}

bool import_possible(struct import *import, double value, const char *unit)
{
    if (value >= 0 && value <= import_largest(unit))
        return true;
    import_count(import, "figures_impossible", 1);
    return false;
}

bool import_figure(struct import *import, const char *source, const char *name, double value,
                   const char *unit)
{
    if (!import_possible(import, value, unit))
        return false;
    keep(import, report_add_figure(import->report, source, name, value, unit));
    return true;
}

bool import_scan(struct import *import, const char *line, const char *key, const char *unit,
                 double *value)
{
    const char *at = strstr(line, key), *end;
    double number;

    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " \t:=");
    if (*at == '\0')
        return false;
    if (!import_possible(import, scan_number(at, &number, &end) ? number : NAN, unit))
        return false;
    *value = number;
    return true;
}

void import_say(struct import *import, const char *cause, const char *format, ...)
{
    char text[1200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct report_verdict verdict = {.rank = (int)import->report->verdict_count + 1,
                                     .cause = (char *)cause,
                                     .stage = (char *)"",
                                     .text = text,
                                     .type = (char *)"",
                                     .next = (char *)""};
    keep(import, report_add_verdict(import->report, &verdict));
}

void import_note(struct import *import, const char *format, ...)
{
    char text[1200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    keep(import, report_add_note(import->report, "%s", text));
}

static void add_count(struct count *counts, size_t size, const char *name, uint64_t value)
{
    for (size_t i = 0; i < size; i++) {
        if (counts[i].name && strcmp(counts[i].name, name) != 0)
            continue;
        counts[i].name = name;
        counts[i].value += value;
        return;
    }
}

void import_count(struct import *import, const char *name, uint64_t value)
{
    add_count(import->counts, sizeof(import->counts) / sizeof(import->counts[0]), name, value);
}

void import_incomplete(struct import *import, const char *reason, uint64_t value)
{
    add_count(import->incomplete, sizeof(import->incomplete) / sizeof(import->incomplete[0]),
              reason, value);
}

uint64_t *import_stage(struct import_op *op, const char *name, const char *kind)
{
    for (size_t i = 0; i < op->stage_count; i++)
        if (strcmp(op->stages[i].name, name) == 0)
            return &op->stages[i].ns;
    if (op->stage_count < IMPORT_STAGES) {
        op->stages[op->stage_count].name = name;
        op->stages[op->stage_count].kind = kind;
        op->stages[op->stage_count++].ns = 0;
    }
    return &op->stages[op->stage_count - 1].ns;
}

static struct type_sum *type_of(struct import *import, const char *type)
{
    for (size_t i = 0; i < import->type_count; i++)
        if (strcmp(import->types[i]->type, type) == 0)
            return import->types[i];
    if (import->type_count == MOST_TYPES)
        return import->types[MOST_TYPES - 1];
    if (import->type_count == MOST_TYPES - 1)
        type = "ops of further types";
    struct type_sum **grown =
        realloc(import->types, (import->type_count + 1) * sizeof(struct type_sum *));
    struct type_sum *sum = calloc(1, sizeof(*sum));
    if (grown)
        import->types = grown;
    if (!grown || !sum) {
        free(sum);
        keep(import, err_no_memory());
        return NULL;
    }
    snprintf(sum->type, sizeof(sum->type), "%s", type);
    histogram_init(&sum->histogram);
    return import->types[import->type_count++] = sum;
}

static struct stage_sum *stage_of(struct import *import, struct type_sum *type, const char *name,
                                  const char *kind)
{
    for (size_t i = 0; i < type->stage_count; i++)
        if (strcmp(type->stages[i]->name, name) == 0)
            return type->stages[i];
    if (type->stage_count == IMPORT_STAGES)
        return NULL;
    struct stage_sum *sum = calloc(1, sizeof(*sum));
    if (!sum) {
        keep(import, err_no_memory());
        return NULL;
    }
    sum->name = name;
    sum->kind = kind;
    histogram_init(&sum->histogram);
    return type->stages[type->stage_count++] = sum;
}

/* The slowest first. */
static void keep_slowest(struct import *import, const struct import_op *op)
{
    size_t at = import->slowest_count;

    while (at > 0 && import->slowest[at - 1].latency_ns < op->latency_ns)
        at--;
    if (at == SHOWN_OPS)
        return;
    if (import->slowest_count < SHOWN_OPS)
        import->slowest_count++;
    memmove(&import->slowest[at + 1], &import->slowest[at],
            (import->slowest_count - 1 - at) * sizeof(*op));
    import->slowest[at] = *op;
}

void import_add_op(struct import *import, const struct import_op *op)
{
    struct type_sum *type = type_of(import, op->type);

    if (!type)
        return;
    histogram_add(&type->histogram, op->latency_ns);
    type->bytes += op->sized ? op->bytes : 0;
    type->sized += op->sized;
    for (size_t i = 0; i < op->stage_count; i++) {
        struct stage_sum *stage = stage_of(import, type, op->stages[i].name, op->stages[i].kind);
        if (stage)
            histogram_add(&stage->histogram, op->stages[i].ns);
    }
    import->report->counts.ops++;
    keep_slowest(import, op);
}

void import_add_run(struct import *import, const struct import_run *run)
{
    struct import_run *grown =
        realloc(import->runs, (import->run_count + 1) * sizeof(struct import_run));

    if (!grown) {
        keep(import, err_no_memory());
        return;
    }
    import->runs = grown;
    import->runs[import->run_count++] = *run;
}

/* How runs of one kind compare, two after the other. */
static void compare(struct import *import, const struct import_run *one,
                    const struct import_run *other)
{
    double more = one->rate > 0 ? other->rate / one->rate : 0;

    if (more <= 0)
        return;
    if (one->depth > 0 && other->depth > one->depth && more > 1 && other->latency_s > 0 &&
        other->latency_s < one->latency_s)
        import_say(import, "disturbed",
                   "%s at depth %.0f has %.1f times the throughput of %s at depth %.0f and a lower "
                   "mean latency (%.4g s against %.4g s): the run at depth %.0f was disturbed, not "
                   "saturated.",
                   other->source, other->depth, more, one->source, one->depth, other->latency_s,
                   one->latency_s, one->depth);
    else if (more > 1)
        import_say(import, "compare", "%s: %.5g op/s, %.1f %% more than %s: %.5g op/s.",
                   other->source, other->rate, 100 * (more - 1), one->source, one->rate);
    else
        import_say(import, "compare", "%s: %.5g op/s, %.1f %% less than %s: %.5g op/s.",
                   other->source, other->rate, 100 * (1 - more), one->source, one->rate);
}

/* The last run before it that it can be compared with; NULL: none. */
static const struct import_run *run_before(const struct import *import, size_t index)
{
    const struct import_run *run = &import->runs[index];

    while (index-- > 0) {
        const struct import_run *other = &import->runs[index];
        if (strcmp(other->kind, run->kind) == 0 && strcmp(other->workload, run->workload) == 0 &&
            (!*run->file || strcmp(other->file, run->file) != 0))
            return other;
    }
    return NULL;
}

/* Rows of a depth that rises, a rate, and perhaps a latency: a job for `optrail scale`. */
static bool is_sweep(const char *text)
{
    char line[SCAN_LINE];
    double row[4], last = 0;
    size_t rows = 0;

    while (rows < 3 && scan_line(&text, line)) {
        size_t count = scan_row(line, row, 4);
        rows = (count == 2 || count == 3) && row[0] >= 1 && row[0] == floor(row[0]) && row[1] > 0
                   ? (row[0] > last ? rows + 1 : 1)
                   : 0;
        last = rows ? row[0] : 0;
    }
    return rows == 3;
}

int import_take(struct import *import, const struct import_format *format, const char *name,
                const char *bytes, size_t size)
{
    struct text_repairs repairs;
    const char *encoding = text_encoding(bytes, size);

    if (encoding)
        return err_set(EBADMSG, "is text in %s: `iconv -f %s -t UTF-8` makes it readable", encoding,
                       encoding);
    char *text = text_repair(bytes, size, &repairs);
    struct tolerant *json = text ? tolerant_parse(text, strlen(text)) : NULL;
    const struct evidence evidence = {.name = name, .text = text, .json = json};
    size_t found = 0;

    if (!json) {
        free(text);
        return -ENOMEM;
    }
    for (const struct import_format *row = import_formats; row->name; row++)
        if (!format || row == format)
            found += row->read(import, &evidence);
    bool sweep = found == 0 && is_sweep(text);
    tolerant_free(json);
    free(text);
    import_count(import, "quoted_lines", repairs.quotes);
    if (import->result < 0)
        return import->result;
    if (sweep)
        return err_set(EBADMSG,
                       "its rows look like throughput against depth: `optrail scale` reads that");
    if (found == 0)
        return err_set(EBADMSG, "nothing in it is known%s%s: `optrail import --help` lists what is",
                       format ? " as " : "", format ? format->name : "");
    return 0;
}

static void fill_latency(struct report_latency *latency, const struct histogram *histogram)
{
    latency->count = histogram->count;
    latency->mean = histogram_mean(histogram);
    latency->p50 = histogram_quantile(histogram, 0.5);
    latency->p90 = histogram_quantile(histogram, 0.9);
    latency->p99 = histogram_quantile(histogram, 0.99);
    latency->p999 = histogram_quantile(histogram, 0.999);
    latency->max = histogram->max;
}

static int fill_type(struct report *report, const struct type_sum *type)
{
    struct report_op *op;
    int result = report_add_op(report, type->type, "", &op);
    uint64_t covered = 0;

    if (result < 0)
        return result;
    fill_latency(&op->latency, &type->histogram);
    op->count = type->histogram.count;
    op->total_ns = type->histogram.sum;
    op->bytes = type->bytes;
    for (size_t i = 0; i < type->stage_count; i++) {
        const struct stage_sum *sum = type->stages[i];
        struct report_stage *stage;
        result = report_add_stage(op, sum->name, sum->kind, "", NULL, &stage);
        if (result < 0)
            return result;
        fill_latency(&stage->latency, &sum->histogram);
        stage->count = sum->histogram.count;
        stage->total_ns = sum->histogram.sum;
        stage->share = op->total_ns ? (double)stage->total_ns / (double)op->total_ns : 0;
        covered += stage->total_ns;
    }
    op->unattributed_ns = op->total_ns > covered ? op->total_ns - covered : 0;
    op->unattributed_share = op->total_ns ? (double)op->unattributed_ns / (double)op->total_ns : 0;
    return 0;
}

static int fill_exemplar(struct report *report, const struct import_op *op)
{
    struct report_exemplar *exemplar;
    int result = report_add_exemplar(report, op->type, &exemplar);
    uint64_t covered = 0;

    if (result < 0)
        return result;
    exemplar->client = op->client;
    exemplar->tid = op->tid;
    exemplar->start_ns = (uint64_t)(op->start_ns > 0 ? op->start_ns : 0);
    exemplar->latency_ns = op->latency_ns;
    for (size_t i = 0; result == 0 && i < op->stage_count; i++) {
        covered += op->stages[i].ns;
        result = report_add_exemplar_stage(exemplar, op->stages[i].name, op->stages[i].ns);
    }
    exemplar->unattributed_ns = op->latency_ns > covered ? op->latency_ns - covered : 0;
    return result;
}

int import_finish(struct import *import)
{
    struct report *report = import->report;

    for (size_t i = 1; i < import->run_count; i++) {
        const struct import_run *before = run_before(import, i);
        if (before)
            compare(import, before, &import->runs[i]);
    }
    for (size_t i = 0; i < import->type_count; i++) {
        const struct type_sum *type = import->types[i];
        uint64_t count = type->histogram.count;
        keep(import, fill_type(report, type));
        if (type->sized > 0 && type->sized < count)
            import_note(import,
                        "%s: the size of %" PRIu64 " of %" PRIu64
                        " ops is not told; in the mean it counts as none",
                        type->type, count - type->sized, count);
    }
    for (size_t i = 0; i < import->slowest_count; i++)
        keep(import, fill_exemplar(report, &import->slowest[i]));
    for (size_t i = 0; i < sizeof(import->counts) / sizeof(import->counts[0]); i++)
        if (import->counts[i].name && import->counts[i].value)
            keep(import, report_add_other(report, import->counts[i].name, import->counts[i].value));
    for (size_t i = 0; i < sizeof(import->incomplete) / sizeof(import->incomplete[0]); i++)
        if (import->incomplete[i].name)
            keep(import, report_add_incomplete(report, import->incomplete[i].name,
                                               import->incomplete[i].value));
    return import->result;
}
