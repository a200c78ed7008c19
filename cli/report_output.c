/* SPDX-License-Identifier: MIT */
#include "report_output.h"

#include <errno.h>
#include <string.h>

#include "err.h"

static const struct renderer *renderer_of(const struct report_output *output)
{
    return renderer_by_name(output->format ? output->format : "text");
}

int report_output_check(const struct report_output *output)
{
    return renderer_of(output) ? 0 : -EINVAL;
}

static int write_file(const struct renderer *renderer, const struct report *report,
                      const char *file)
{
    const struct render_options options = {0};
    FILE *out = fopen(file, "we");
    int result;

    if (!out)
        return err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
    result = err_prefix(renderer->render(report, &options, out), "%s", file);
    /* a full disk may show only now */
    if (fclose(out) == EOF && result == 0)
        result = err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
    return result;
}

int report_output_write(const struct report_output *output, const struct report *report)
{
    const struct render_options options = {0};
    const struct renderer *renderer = renderer_of(output);
    int result;

    if (!renderer)
        return -EINVAL;
    /* the file first: a reader who stops reading the terminal's side must not cost it */
    result = output->json ? write_file(renderer_by_name("json"), report, output->json) : 0;
    if (result < 0)
        return result;
    return output->file ? write_file(renderer, report, output->file)
                        : renderer->render(report, &options, stdout);
}
