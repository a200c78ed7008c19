/* SPDX-License-Identifier: MIT */
#include <optrail/probe.h>

#include "probe_slots.h"
#include "provider_file.h"
#include "provider_interface.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many directories above the program's own are searched for lib/optrail. */
enum { LEVELS_ABOVE = 3 };

static int is_connected;

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

/* Takes over the open file. The loader would put something else in the place of a $. */
static bool connect_if_whole(const char *path, int file)
{
    if (file < 0)
        return false;
    bool is_whole = optrail_provider_is_whole(file) && !strchr(path, '$');
    close(file);
    return is_whole && connect_provider(path);
}

static bool connect_in(const char *directory, const char *below)
{
    char file[PATH_MAX];
    int length = snprintf(file, sizeof(file), "%s/%s%s", directory, below, PROVIDER_FILE);
    return length > 0 && (size_t)length < sizeof(file) &&
           connect_if_whole(file, optrail_provider_open_trusted(file));
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

/* The directories in which the loader would look for a library that this program or shared object
 * needs (the loader's cache has only names that begin with "lib"). */
static bool connect_on_search_path(void)
{
    Dl_info ours;
    struct link_map *object = NULL;
    Dl_serinfo size;
    if (dladdr1(&is_connected, &ours, (void **)&object, RTLD_DL_LINKMAP) == 0 || !object ||
        dlinfo(object, RTLD_DI_SERINFOSIZE, &size) != 0)
        return false;
    Dl_serinfo *path = calloc(1, size.dls_size);
    if (!path)
        return false;
    path->dls_size = size.dls_size;
    path->dls_cnt = size.dls_cnt;
    bool is_found = false;
    if (dlinfo(object, RTLD_DI_SERINFO, path) == 0) {
        for (unsigned i = 0; i < path->dls_cnt && !is_found; i++) {
            char directory[PATH_MAX];
            is_found =
                realpath(path->dls_serpath[i].dls_name, directory) && connect_in(directory, "");
        }
    }
    free(path);
    return is_found;
}

static bool find_provider(void)
{
    /* nothing from the environment for a program that runs with another's rights */
    const char *wanted = secure_getenv("OPTRAIL_PROVIDER");
    if (wanted && strcmp(wanted, "off") == 0)
        return false;
    if (wanted && *wanted) {
        /* the loader would take a name without a slash for another file than we do */
        char file[PATH_MAX];
        return realpath(wanted, file) && connect_if_whole(file, optrail_provider_open(file));
    }
    return connect_near_program() || connect_on_search_path();
}

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
