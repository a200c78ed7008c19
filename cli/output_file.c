/* SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <string.h>

#include "err.h"

bool output_is_standard(const char *file)
{
    return strcmp(file, "-") == 0;
}

int output_file_write(const char *file, output_writer *write, const void *context)
{
    FILE *out = fopen(file, "we");
    if (!out)
        return err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
    int result = err_prefix(write(context, out), "%s", file);
    /* a full disk may show only now */
    if (fclose(out) == EOF && result == 0)
        result = err_set(errno, "%s: cannot be written: %s", file, strerror(errno));
    return result;
}
