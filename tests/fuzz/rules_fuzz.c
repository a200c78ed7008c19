/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cxx_functions.h"
#include "path.h"
#include "weave_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rules(const char *file)
{
    struct weave_rules rules = {0};

    if (weave_rules_read_file(file, &rules) == 0 && rules.count == 0)
        abort();
    weave_rules_free(&rules);
}

static void read_path(const char *file)
{
    struct path *path = NULL;

    if (path_read(file, &path) == 0 && (!path || path->type_count == 0))
        abort();
    path_free(path);
}

/* The same bytes as a file of the weaver's rules, as a path file, and as C++ to be woven. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("text", MFD_CLOEXEC);
    char file[64], *source = malloc(size + 1);
    struct cxx_code code;
    struct cxx_body body;

    if (descriptor < 0 || !source || write(descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(file, sizeof(file), "/proc/self/fd/%d", descriptor);
    read_rules(file);
    read_path(file);
    close(descriptor);
    memcpy(source, data, size);
    source[size] = '\0';
    if (cxx_code_read(source, size, &code) == 0) {
        if (cxx_function_find(&code, "a::b", NULL, &body) == 0 && body.close >= code.count)
            abort();
        cxx_code_free(&code);
    }
    free(source);
    return 0;
}
