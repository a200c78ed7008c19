/* SPDX-License-Identifier: MIT */
#include "report_output.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "inputs.h"
#include "output_file.h"
#include "output_width.h"

static const struct renderer *renderer_of(const struct report_output *output)
{
    return renderer_by_name(output->format ? output->format : "text");
}

/* Whether the file can be written, before the work is done that would be lost if it cannot. */
static int check_file(const char *file)
{
    char directory[PATH_MAX];
    struct stat status;

    if (output_is_standard(file))
        return 0;
    if (stat(file, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return err_set(EISDIR, "%s: is a directory: name a file for the report", file);
        return access(file, W_OK) == 0
                   ? 0
                   : err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
    }
    if (snprintf(directory, sizeof(directory), "%s", file) >= (int)sizeof(directory))
        return err_set(ENAMETOOLONG, "the name of the report's file is too long");
    return access(dirname(directory), W_OK) == 0
               ? 0
               : err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
}

int report_output_check(const struct report_output *output, const char *path, int count,
                        char *const *inputs)
{
    const char *const files[] = {output->file, output->json, output->save};
    const char *const options[] = {"-o", "--json", "--save"};
    char *const path_inputs[] = {(char *)path};
    int result = renderer_of(output) ? outputs_differ(3, files, options) : -EINVAL;

    if (result == 0 && output->file && output->json && output_is_standard(output->file) &&
        output_is_standard(output->json))
        result = err_set(EINVAL, "-o and --json both name the standard output");
    if (result == 0 && output->save && output_is_standard(output->save))
        result = err_set(EINVAL, "--save needs the name of a file");
    for (int i = 0; result == 0 && i < 3; i++) {
        result = inputs_keep(count, inputs, files[i]);
        if (result == 0)
            result = inputs_keep(1, path_inputs, files[i]);
        if (result == 0 && files[i])
            result = check_file(files[i]);
    }
    return result;
}

bool report_output_windows(const struct report_output *output)
{
    const struct renderer *renderer = renderer_of(output);

    return output->save != NULL || (renderer && renderer->windows);
}

/* A report on its way to a form. */
struct rendering {
    const struct renderer *renderer;
    const struct report_output *output;
    const struct report *report;
};

static int render(const void *context, FILE *out)
{
    const struct rendering *rendering = context;
    const struct render_options options = {.width = out == stdout ? output_width() : 0,
                                           .all_locks = rendering->output->all_locks,
                                           .tails = rendering->output->tails};

    return rendering->renderer->render(rendering->report, &options, out);
}

static int write_file(const struct renderer *renderer, const struct report_output *output,
                      const struct report *report, const char *file)
{
    const struct rendering rendering = {renderer, output, report};

    return output_is_standard(file) ? render(&rendering, stdout)
                                    : output_file_write(file, render, &rendering);
}

int report_output_write(const struct report_output *output, const struct report *report)
{
    const struct renderer *renderer = renderer_of(output);
    int result;

    if (!renderer)
        return -EINVAL;
    /* the file first: a reader who stops reading the terminal's side must not cost it */
    result = output->json ? write_file(renderer_by_name("json"), output, report, output->json) : 0;
    if (result < 0)
        return result;
    /* only the JSON form on standard output: two forms in one stream would be of no use */
    if (!output->file && output->json && output_is_standard(output->json))
        return 0;
    return write_file(renderer, output, report, output->file ? output->file : "-");
}
