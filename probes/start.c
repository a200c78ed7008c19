/* SPDX-License-Identifier: MIT */
#include <optrail/probe.h>

#include "probe_slots.h"
#include "provider_interface.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many directories above the program's own are searched for lib/optrail. */
enum { LEVELS_ABOVE = 3 };

/* A provider stays for good once it is loaded: LTTng's threads and fork handlers run in it. */
static bool connect_provider(const char *file)
{
    void *provider = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!provider)
        return false;
    provider_connect_function *connect =
        (provider_connect_function *)dlsym(provider, PROVIDER_CONNECT);
    const struct provider_request request = {
        .interface = PROVIDER_INTERFACE,
        .points = probe_slot_count,
        .catalogue = provider_catalogue,
        .slots = probe_slots,
    };
    return connect && connect(&request) == 0;
}

/* What we load becomes part of the daemon: only files of root or of the daemon's own user. */
static bool is_trusted(const char *file)
{
    struct stat status;
    return stat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid == 0 || status.st_uid == geteuid()) && !(status.st_mode & S_IWOTH);
}

static bool connect_in(const char *directory, const char *below)
{
    char file[PATH_MAX];
    int length = snprintf(file, sizeof(file), "%s/%s%s", directory, below, PROVIDER_FILE);
    return length > 0 && (size_t)length < sizeof(file) && is_trusted(file) &&
           connect_provider(file);
}

static bool cut_last_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static bool connect_near_program(void)
{
    char directory[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
    if (length <= 0)
        return false;
    directory[length] = '\0';
    if (!cut_last_name(directory))
        return false;
    if (connect_in(directory, ""))
        return true;
    for (int level = 0; level < LEVELS_ABOVE && cut_last_name(directory); level++)
        if (connect_in(directory, "lib/optrail/"))
            return true;
    return false;
}

static bool find_provider(void)
{
    /* nothing from the environment for a program that runs with another's rights */
    const char *wanted = secure_getenv("OPTRAIL_PROVIDER");
    if (wanted && strcmp(wanted, "off") == 0)
        return false;
    if (wanted && *wanted)
        return connect_provider(wanted);
    return connect_near_program() || connect_provider(PROVIDER_FILE);
}

static int is_connected;

static void start_once(void)
{
    int errno_before = errno;
    is_connected = find_provider();
    errno = errno_before;
}

int optrail_probes_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
    return is_connected;
}
