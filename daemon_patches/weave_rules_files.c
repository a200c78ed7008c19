/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "weave_rules.h"

static int is_rules_file(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot && strcmp(dot, ".yaml") == 0;
}

static int read_directory(const char *name, struct weave_rules *rules)
{
    struct dirent **entries;
    int count = scandir(name, &entries, is_rules_file, alphasort);
    if (count < 0)
        return err_set(errno, "%s: cannot read the directory of rules: %s", name, strerror(errno));
    int result = count ? 0 : err_set(ENOENT, "%s: no files of rules (*.yaml) are in it", name);
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        if (result == 0 &&
            snprintf(file, sizeof(file), "%s/%s", name, entries[i]->d_name) >= (int)sizeof(file))
            result = err_set(ENAMETOOLONG, "%s: the name of a file in it is too long", name);
        if (result == 0)
            result = weave_rules_read_file(file, rules);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static bool is_directory(const char *name)
{
    struct stat status;
    return stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

int weave_rules_read(const char *name, struct weave_rules *rules)
{
    *rules = (struct weave_rules){0};
    int result =
        is_directory(name) ? read_directory(name, rules) : weave_rules_read_file(name, rules);
    if (result == 0 && !rules->include && !(rules->include = strdup("<optrail/probe.h>")))
        result = err_no_memory();
    if (result)
        weave_rules_free(rules);
    return result;
}

const char *weave_rules_shipped(const char *name)
{
    static char directory[PATH_MAX];
    char beside[PATH_MAX];
    const char *environment = getenv("OPTRAIL_RULES");
    /* PREFIX/bin/optrail and PREFIX/share/optrail/rules */
    ssize_t length = readlink("/proc/self/exe", beside, sizeof(beside) - 32);
    beside[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(beside, '/');
    if (slash)
        memcpy(slash, "/../share/optrail/rules", sizeof("/../share/optrail/rules"));
    const char *const above[] = {environment, beside, OPTRAIL_INSTALL_RULES, OPTRAIL_SOURCE_RULES};
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++)
        if (above[i] && *above[i] &&
            snprintf(directory, sizeof(directory), "%s/%s", above[i], name) <
                (int)sizeof(directory) &&
            is_directory(directory))
            return directory;
    return NULL;
}
