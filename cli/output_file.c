/* SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "whole_file.h"

bool output_is_standard(const char *file)
{
    return strcmp(file, "-") == 0;
}

int output_file_write(const char *file, output_writer *write, const void *context)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_no_memory();
    int result = err_prefix(write(context, out), "%s", file);
    if (fclose(out) == EOF && result == 0)
        result = err_no_memory();
    int failed = result == 0 ? whole_file_write(file, text, size) : 0;
    if (failed < 0)
        result = err_set(-failed, "%s: cannot be written: %s", file, strerror(-failed));
    free(text);
    return result;
}
