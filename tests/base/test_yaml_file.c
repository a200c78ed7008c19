/* SPDX-License-Identifier: MIT */
/* Which files are read at all; what may stand in them is their readers' tests. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "err.h"
#include "yaml_file.h"

static void refused(const char *name, int code, const char *message)
{
    struct yaml_file file;
    const yaml_node_t *root;
    assert_int_equal(yaml_file_load(&file, name, "a manual", &root), code);
    assert_non_null(strstr(err_message(), name));
    assert_non_null(strstr(err_message(), message));
}

static void only_ordinary_files(void **state)
{
    (void)state;
    char pipe[] = "/tmp/optrail-yaml-XXXXXX";
    assert_non_null(mkdtemp(pipe));
    refused(pipe, -EINVAL, "no ordinary file"); /* a directory */
    assert_int_equal(rmdir(pipe), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    refused(pipe, -EINVAL, "no ordinary file"); /* must not wait for a writer */
    assert_int_equal(unlink(pipe), 0);
    refused("/dev/zero", -EINVAL, "no ordinary file");
    refused("/nonexistent", -ENOENT, "No such file");
}

static void not_too_large(void **state)
{
    (void)state;
    char name[] = "/tmp/optrail-yaml-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
    refused(name, -EINVAL, "at most 1 MiB");
    close(fd);
    unlink(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_ordinary_files),
        cmocka_unit_test(not_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
