/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"
#include "tolerant_json.h"

#define MOST_OSDS 4096

struct average {
    bool told; /* something was counted; the mean may be one that cannot be */
    double count, sum, mean;
};

/* An average is a sum and how many: older versions do not divide for us. */
static struct average average_of(const struct tolerant_node *node)
{
    struct average average = {0};

    if (node && node->type == TOLERANT_LIST && tolerant_number(node, "avgcount", &average.count) &&
        tolerant_number(node, "sum", &average.sum) && average.count != 0) {
        average.mean = average.sum >= 0 && average.count > 0 ? average.sum / average.count : NAN;
        average.told = true;
    }
    return average;
}

/* Newer versions do divide, and what they say must agree. */
static void check_mean(struct import *import, const char *source, const struct tolerant_node *node,
                       const struct average *average)
{
    double told;

    if (!tolerant_number(node, "avgtime", &told) || !import_possible(import, told, "s"))
        return;
    /* an average of nanoseconds, printed with as many digits */
    if (fabs(told - average->mean) > 0.01 * fmax(told, average->mean) + 2e-9)
        import_say(import, "contradiction",
                   "%s: %s: a sum of %.6g s over %.6g is %.4g s on average, and it says %.4g s.",
                   source, node->key, average->sum, average->count, average->mean, told);
}

static bool can_be(const struct average *average)
{
    return average->told && average->mean > 0 && average->mean < import_largest("s");
}

/* Of ops of a kind: how long they take in all, and how long once a thread has taken them. */
static void say_kind(struct import *import, const char *name, const struct tolerant_node *section,
                     const char *kind)
{
    char whole_key[48], process_key[64];

    snprintf(whole_key, sizeof(whole_key), "%s_latency", kind);
    snprintf(process_key, sizeof(process_key), "%s_process_latency", kind);
    struct average whole = average_of(tolerant_child(section, whole_key));
    struct average process = average_of(tolerant_child(section, process_key));
    /* what cannot be is counted as a figure; none is shown either */
    if (!can_be(&whole) || !can_be(&process))
        return;
    if (process.mean > 1.001 * whole.mean)
        import_say(import, "contradiction",
                   "%s: %s takes %.4g ms in all but %.4g ms to process: the counters do not belong "
                   "together.",
                   name, kind, whole.mean * 1e3, process.mean * 1e3);
    else
        import_say(import, "average",
                   "%s: %s takes %.4g ms on average, of which processing is %.4g ms; the other "
                   "%.1f %% passes before a thread takes the op or after it left.",
                   name, kind, whole.mean * 1e3, process.mean * 1e3,
                   100 * (1 - process.mean / whole.mean));
}

size_t read_perf_dump(struct import *import, const struct evidence *evidence)
{
    static const char *const kinds[] = {"op_w", "op_r", "op_rw"};
    size_t found = 0;
    char source[160], name[96];

    for (const struct tolerant_node *node = tolerant_root(evidence->json); node; node = node->all) {
        struct average average = average_of(node);
        double load;
        if (average.told && *node->key) {
            found++;
            bool time = strstr(node->key, "lat") || strstr(node->key, "time");
            snprintf(source, sizeof(source), "%.100s, %.50s", evidence->name,
                     node->parent && *node->parent->key ? node->parent->key : "counters");
            snprintf(name, sizeof(name), "%.80s.mean", node->key);
            if (import_figure(import, source, name, average.mean, time ? "s" : ""))
                check_mean(import, source, node, &average);
        }
        if (node->type == TOLERANT_LIST && tolerant_child(node, "op_latency")) {
            for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                say_kind(import, evidence->name, node, kinds[i]);
            if (tolerant_number(node, "loadavg", &load))
                import_figure(import, evidence->name, "loadavg", load / 100, "");
        }
    }
    if (found)
        import_note(import,
                    "%s: averages since the daemon began or since its counters were reset: they "
                    "show neither tails nor when",
                    evidence->name);
    return found;
}

struct osd {
    double id, commit, apply;
};

static int by_apply(const void *one, const void *other)
{
    const struct osd *a = one, *b = other;
    double x = a->apply + a->commit, y = b->apply + b->commit;

    return (x < y) - (x > y);
}

static void say_osds(struct import *import, const char *name, struct osd *osds, size_t count)
{
    char figure[48];

    for (size_t i = 0; i < count; i++) {
        snprintf(figure, sizeof(figure), "osd.%.0f.commit", osds[i].id);
        import_figure(import, name, figure, osds[i].commit / 1e3, "s");
        snprintf(figure, sizeof(figure), "osd.%.0f.apply", osds[i].id);
        import_figure(import, name, figure, osds[i].apply / 1e3, "s");
    }
    qsort(osds, count, sizeof(*osds), by_apply);
    const struct osd *middle = &osds[count / 2];
    if (count < 2 || osds[0].apply + osds[0].commit < 3 * (middle->apply + middle->commit) + 30)
        import_say(import, "even", "%s: none of %zu OSDs stands out.", name, count);
    else
        import_say(import, "outlier",
                   "%s: osd.%.0f (%.0f / %.0f ms, commit / apply) is the outlier, osd.%.0f (%.0f / "
                   "%.0f ms) the second. It is the average of a moment: look again, and at its "
                   "disk.",
                   name, osds[0].id, osds[0].commit, osds[0].apply, osds[1].id, osds[1].commit,
                   osds[1].apply);
}

/* Number, commit and apply: none of them can be so large. */
static bool is_osd(const double *row)
{
    for (size_t i = 0; i < 3; i++)
        if (!(row[i] >= 0 && row[i] < 1e9))
            return false;
    return true;
}

size_t read_osd_perf(struct import *import, const struct evidence *evidence)
{
    struct osd *osds = calloc(MOST_OSDS, sizeof(*osds));
    const char *at = evidence->text;
    char line[SCAN_LINE];
    bool table = false;
    size_t count = 0;

    if (!osds) {
        import_count(import, "texts_without_room", 1);
        return 0;
    }
    while (scan_line(&at, line)) {
        double row[4];
        if (strstr(line, "commit_latency(ms)")) {
            table = true;
            continue;
        }
        /* a prompt, the next command's output: the table is over */
        table &= !isalpha((unsigned char)line[strspn(line, " \t")]) || scan_begins(line, "nan");
        if (!table || line[strspn(line, " \t\r|-+")] == '\0')
            continue;
        if (scan_row(line, row, 4) == 3 && count < MOST_OSDS && is_osd(row))
            osds[count++] = (struct osd){row[0], row[1], row[2]};
        else
            import_count(import, "rows_unusable", 1);
    }
    for (const struct tolerant_node *node = tolerant_root(evidence->json);
         node && count < MOST_OSDS; node = node->all) {
        const struct tolerant_node *stats =
            node->type == TOLERANT_LIST ? tolerant_child(node, "perf_stats") : NULL;
        struct osd osd;
        if (stats && tolerant_number(node, "id", &osd.id) &&
            tolerant_number(stats, "commit_latency_ms", &osd.commit) &&
            tolerant_number(stats, "apply_latency_ms", &osd.apply)) {
            if (is_osd((const double[]){osd.id, osd.commit, osd.apply}))
                osds[count++] = osd;
            else
                import_count(import, "rows_unusable", 1);
        }
    }
    if (count)
        say_osds(import, evidence->name, osds, count);
    free(osds);
    return count;
}
