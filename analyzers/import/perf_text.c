/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "import_private.h"
#include "scan.h"

/* Flat reports of perf: share, object, symbol. A long symbol stands on the next line. */
struct perf {
    struct import *import;
    const struct evidence *evidence;
    size_t reports, rows;
    double cycles, allocator, last_cycles, last_allocator;
};

static void end_report(struct perf *perf)
{
    char source[160];

    if (perf->rows == 0)
        return;
    perf->reports++;
    snprintf(source, sizeof(source), "%.100s, perf report %zu", perf->evidence->name,
             perf->reports);
    import_figure(perf->import, source, "events", perf->cycles, "");
    import_figure(perf->import, source, "share.tcmalloc", perf->allocator, "%");
    if (perf->allocator > 30)
        import_say(
            perf->import, "allocator",
            "%s: tcmalloc is %.1f %% of the samples, most of it in the central free list and "
            "in giving memory back to it: the threads' caches thrash.",
            source, perf->allocator);
    if (perf->reports > 1 && perf->last_cycles > 0 && perf->cycles > 0)
        import_say(
            perf->import, "compare",
            "%s: tcmalloc is %.1f %%, and was %.1f %% in the report before; the events %s by "
            "%.0f %%.",
            source, perf->allocator, perf->last_allocator,
            perf->cycles < perf->last_cycles ? "fell" : "rose",
            100 * (perf->cycles < perf->last_cycles ? 1 - perf->cycles / perf->last_cycles
                                                    : perf->cycles / perf->last_cycles - 1));
    perf->last_cycles = perf->cycles;
    perf->last_allocator = perf->allocator;
    perf->cycles = perf->allocator = 0;
    perf->rows = 0;
}

static void take_line(struct perf *perf, const char *line)
{
    const char *at = line, *end;
    double share;

    if (strstr(line, "Event count (approx.)")) {
        end_report(perf);
        scan_after(line, "Event count (approx.)", &perf->cycles);
        return;
    }
    at += strspn(at, "+- \t");
    if (!scan_number(at, &share, &end) || *end != '%' || share < 0 || share > 100 ||
        !(strstr(line, "[.]") || strstr(line, "[k]")))
        return;
    perf->rows++;
    if (strstr(line, "tcmalloc"))
        perf->allocator += share;
}

size_t read_perf_text(struct import *import, const struct evidence *evidence)
{
    struct perf perf = {.import = import, .evidence = evidence};
    const char *at = evidence->text;
    char line[SCAN_LINE];

    while (scan_line(&at, line))
        take_line(&perf, line);
    end_report(&perf);
    return perf.reports;
}
