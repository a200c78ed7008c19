/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "scale_judge.h"
#include "scale_render.h"
#include "scale_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A table becomes an answer in both forms, or is refused: all that comes out is a number. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scaling *scaling = NULL;
    FILE *in = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "re");
    FILE *out = fopen("/dev/null", "we");

    if (!in || !out || scaling_new(&scaling) < 0)
        abort();
    int result = scale_table_read(in, "table", scaling);
    for (size_t i = 0; result == 0 && i < scaling->series_count; i++)
        result = scale_judge(&scaling->series[i]);
    if (result == 0)
        result = scale_judge_together(scaling);
    if (result == 0 && scaling->series_count == 0)
        abort();
    if (result == 0)
        result = render_scale_json(scaling, out);
    if (result == 0)
        render_scale_text(scaling, 80, out);
    scaling_free(scaling);
    fclose(in);
    fclose(out);
    return 0;
}
