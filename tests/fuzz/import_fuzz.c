/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each format whose name is in the list, or (NULL) whatever is found. 0 when one has found
 * something. */
static int take(struct import *import, const char *list, const char *bytes, size_t size)
{
    int result = list ? -1 : import_take(import, NULL, "text", bytes, size);

    for (const struct import_format *row = import_formats; list && row->name; row++)
        if (strstr(list, row->name) && import_take(import, row, "text", bytes, size) == 0)
            result = 0;
    return result;
}

/* One text: nothing may crash, leak or say less than one of the two, that it is a report or that it
 * is none. $OPTRAIL_FUZZ_FORMAT names the formats that a search is for; without it all read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report *report = NULL;
    struct import *import = NULL;

    if (report_new(&report) < 0 || import_new(report, &import) < 0)
        abort();
    int result = take(import, getenv("OPTRAIL_FUZZ_FORMAT"), (const char *)data, size);
    if (import_finish(import) < 0)
        abort();
    if (result == 0 && report->counts.ops == 0 && report->figure_count == 0 &&
        report->verdict_count == 0 && report->note_count == 0 && report->counts.other_count == 0 &&
        report->counts.incomplete_count == 0)
        abort();
    for (size_t i = 0; i < report->op_count; i++) {
        uint64_t sum = report->ops[i].unattributed_ns;
        for (size_t j = 0; j < report->ops[i].stage_count; j++)
            sum += report->ops[i].stages[j].total_ns;
        if (sum < report->ops[i].total_ns)
            abort();
    }
    import_free(import);
    report_free(report);
    return 0;
}
