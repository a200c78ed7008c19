/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One text, read as whatever is found in it: nothing may crash, leak or say less than one of the
 * two, that it is a report or that it is none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report *report = NULL;
    struct import *import = NULL;

    if (report_new(&report) < 0 || import_new(report, &import) < 0)
        abort();
    int result = import_take(import, NULL, "text", (const char *)data, size);
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
