/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"
#include "tolerant_json.h"

#define MOST_OSDS 4096

struct average {
    bool known;
    double count, mean;
};

/* An average is a sum and how many: older versions do not divide for us. */
static struct average average_of(const struct tolerant_node *node)
{
    struct average average = {0};
    double sum;

    if (node && node->type == TOLERANT_LIST && tolerant_number(node, "avgcount", &average.count) &&
        tolerant_number(node, "sum", &sum) && average.count > 0) {
        average.mean = sum / average.count;
        average.known = true;
    }
    return average;
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
    if (!whole.known || !process.known)
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
        if (average.known && *node->key) {
            found++;
            bool time = strstr(node->key, "lat") || strstr(node->key, "time");
            snprintf(source, sizeof(source), "%.100s, %.50s", evidence->name,
                     node->parent && *node->parent->key ? node->parent->key : "counters");
            snprintf(name, sizeof(name), "%.80s.mean", node->key);
            import_figure(import, source, name, average.mean, time ? "s" : "");
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
        if (scan_row(line, row, 4) != 3 || !(row[0] >= 0 && row[0] < 1e9) ||
            !(row[1] >= 0 && row[1] < 1e9) || !(row[2] >= 0 && row[2] < 1e9)) {
            import_count(import, "rows_unusable", 1);
            continue;
        }
        if (count < MOST_OSDS)
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
            tolerant_number(stats, "apply_latency_ms", &osd.apply))
            osds[count++] = osd;
    }
    if (count)
        say_osds(import, evidence->name, osds, count);
    free(osds);
    return count;
}
