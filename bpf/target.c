/* SPDX-License-Identifier: MIT */
#include "target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "err.h"
#include "probe_map.h"
#include "target_ceph.h"
#include "usdt.h"

/* Daemons known by the name of their executable. */
struct daemon_row {
    const char *kind;
    bool ceph;          /* version, id and store are found as Ceph has them */
    const char *no_map; /* why it cannot be traced for want of a map; NULL: it can have one */
};

static const struct daemon_row daemon_rows[] = {
    {"ceph-osd", true, NULL},
    {"ceph-mon", true, "a ceph-mon serves no data path"},
    {"ceph-mgr", true, "a ceph-mgr serves no data path"},
    {"ministore", false, NULL},
};

static const struct daemon_row *daemon_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof(daemon_rows) / sizeof(daemon_rows[0]); i++)
        if (strcmp(daemon_rows[i].kind, name) == 0)
            return &daemon_rows[i];
    return NULL;
}

/* The name of the executable, without folder and without what /proc appends when the file has been
 * replaced. -errno when it cannot be seen. */
static int executable_name(pid_t pid, char *name, size_t size)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        return -errno;
    path[length] = '\0';
    static const char deleted[] = " (deleted)";
    size_t end = strlen(path), mark = sizeof(deleted) - 1;
    if (end > mark && strcmp(path + end - mark, deleted) == 0)
        path[end - mark] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%.*s", (int)size - 1, slash ? slash + 1 : path);
    return 0;
}

/* When the process began, in clock ticks since the boot (field 22 of stat); 0: it cannot be told.
 */
static uint64_t started(pid_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const char *field = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field ? strtoull(field + 1, NULL, 10) : 0;
}

int target_unchanged(const struct target *target)
{
    struct stat status;
    if (stat(target->program, &status))
        return err_set(ESRCH, "pid %d has ended: optrail list shows the daemons that run",
                       target->pid);
    if (status.st_dev == target->device && status.st_ino == target->inode &&
        started(target->pid) == target->started)
        return 0;
    return err_set(ESTALE,
                   "pid %d has become another program meanwhile, which is not probed: optrail list "
                   "shows the daemons that run",
                   target->pid);
}

/* argv, as one block of strings; the caller frees it. NULL: not to be seen. */
static char *command_line(pid_t pid, size_t *size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = calloc(1, 65536 + 1);
    ssize_t got = text ? read(fd, text, 65536) : -1;
    close(fd);
    if (got <= 0) {
        free(text);
        return NULL;
    }
    *size = (size_t)got;
    return text;
}

/* The value of an option in argv, in the forms `-i 0`, `-i0`, `--id 0`, `--id=0`; NULL if it is not
 * there. */
const char *target_option(const char *arguments, size_t size, const char *letter, const char *name)
{
    const char *found = NULL;
    for (const char *argument = arguments; argument < arguments + size;
         argument += strlen(argument) + 1) {
        const char *next = argument + strlen(argument) + 1;
        size_t length = strlen(name);
        if ((letter && strcmp(argument, letter) == 0) || strcmp(argument, name) == 0)
            found = next < arguments + size ? next : NULL;
        else if (strncmp(argument, name, length) == 0 && argument[length] == '=')
            found = argument + length + 1;
        else if (letter && argument[0] == '-' && argument[1] == letter[1] && argument[1] != '-' &&
                 argument[2])
            found = argument + 2;
    }
    return found;
}

static void inspect_ministore(struct target *target, const char *arguments, size_t size)
{
    const char *value = target_option(arguments, size, NULL, "--store");
    snprintf(target->store, sizeof(target->store), "%s", value ? value : "filestore");
    value = target_option(arguments, size, NULL, "--port");
    /* a port of 0 is chosen by the system: then it is no name */
    bool is_number = value && strspn(value, "0123456789") == strlen(value);
    snprintf(target->id, sizeof(target->id), "%s",
             is_number && strcmp(value, "0") != 0 ? value : "");
}

/* Opens the executable, and remembers which one it is. */
static int open_program(struct target *target, struct elf_file **file)
{
    struct stat status;
    int fd = open(target->program, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(errno, "cannot open %s: %s", target->program, strerror(errno));
    int error = elf_file_open_fd(fd, target->program, file);
    if (!error && fstat(fd, &status) == 0) {
        target->device = status.st_dev;
        target->inode = status.st_ino;
    }
    close(fd);
    return error;
}

/* USDT probes or a probe map: what there is to trace with. */
static void find_probes(struct target *target, const struct daemon_row *row)
{
    struct elf_file *file = NULL;
    if (open_program(target, &file)) {
        snprintf(target->obstacle, sizeof(target->obstacle), "%s", err_message());
        return;
    }
    struct usdt_probes probes;
    if (usdt_read(file, "optrail", &probes) == 0) {
        target->usdt_probes = (int)probes.count;
        usdt_free(&probes);
    }
    if (row && row->ceph)
        target_ceph_version(file, target->version, sizeof(target->version));
    elf_file_close(file);
    if (target->usdt_probes || !row)
        return;
    if (row->no_map) {
        snprintf(target->obstacle, sizeof(target->obstacle), "%s", row->no_map);
        return;
    }
    struct probe_map *map;
    bool exact;
    if (!row->ceph)
        snprintf(target->obstacle, sizeof(target->obstacle), "it was built without probes");
    else if (probe_map_choose(probe_map_directory(), target->program, row->kind, target->version,
                              &map, &exact))
        snprintf(target->obstacle, sizeof(target->obstacle), "%s", err_message());
    else {
        target->probe_map = 1;
        probe_map_free(map);
    }
}

int target_privilege(void)
{
    static const struct {
        int bit; /* as in <linux/capability.h> */
        const char *name;
    } needed[] = {{38, "CAP_PERFMON"}, {39, "CAP_BPF"}, {19, "CAP_SYS_PTRACE"}};
    unsigned long long effective = 0;
    char line[256], missing[128] = "";
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, "CapEff:", 7) == 0)
            effective = strtoull(line + 7, NULL, 16);
    if (status)
        fclose(status);
    bool all = effective >> 21 & 1; /* CAP_SYS_ADMIN stands for the first two */
    for (size_t i = all ? 2 : 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (effective >> needed[i].bit & 1)
            continue;
        size_t used = strlen(missing);
        snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "", needed[i].name);
    }
    if (!missing[0])
        return 0;
    return err_set(EPERM, "%s: missing %s",
                   geteuid() == 0 ? "root has not all its rights here" : "tracing needs root",
                   missing);
}

/* A process whose executable is not ours to see: what is left are the command's name and its
 * arguments, which anybody may read. */
static void inspect_hidden(struct target *target)
{
    char path[64], name[16] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", target->pid);
    FILE *comm = fopen(path, "re");
    if (comm && fgets(name, sizeof(name), comm))
        name[strcspn(name, "\n")] = '\0';
    if (comm)
        fclose(comm);
    const struct daemon_row *row = daemon_by_name(name);
    if (row)
        snprintf(target->kind, sizeof(target->kind), "%s", row->kind);
    size_t size;
    char *arguments = row && row->ceph ? command_line(target->pid, &size) : NULL;
    if (arguments)
        target_ceph_inspect(target, arguments, size);
    free(arguments);
    if (geteuid() != 0)
        snprintf(target->obstacle, sizeof(target->obstacle),
                 "it belongs to another user (uid %u): run as root", target->uid);
    else if (target_privilege())
        snprintf(target->obstacle, sizeof(target->obstacle), "%s", err_message());
    else
        snprintf(target->obstacle, sizeof(target->obstacle),
                 "it does not let itself be looked at: a user namespace or a security module is in "
                 "the way");
}

int target_inspect(pid_t pid, struct target *target)
{
    *target = (struct target){.pid = pid};
    snprintf(target->program, sizeof(target->program), "/proc/%d/exe", pid);
    char path[64], name[NAME_MAX + 1];
    snprintf(path, sizeof(path), "/proc/%d", pid);
    struct stat status;
    if (stat(path, &status))
        return err_set(ESRCH, "no process %d: optrail list shows the daemons that run", pid);
    target->uid = status.st_uid;
    target->started = started(pid);
    int error = executable_name(pid, name, sizeof(name));
    if (error == -EACCES || error == -EPERM) {
        inspect_hidden(target);
        return 0;
    }
    if (error == -ESRCH)
        return err_set(ESRCH, "no process %d: optrail list shows the daemons that run", pid);
    if (error)
        return 0; /* a kernel thread */
    const struct daemon_row *row = daemon_by_name(name);
    if (row)
        snprintf(target->kind, sizeof(target->kind), "%s", row->kind);
    find_probes(target, row);
    if (!row && target->usdt_probes)
        snprintf(target->kind, sizeof(target->kind), "%.31s", name);
    size_t size;
    char *arguments = target->kind[0] ? command_line(pid, &size) : NULL;
    if (arguments && row && row->ceph)
        target_ceph_inspect(target, arguments, size);
    else if (arguments && row)
        inspect_ministore(target, arguments, size);
    free(arguments);
    if (target->kind[0] && !target->obstacle[0] && target_privilege())
        snprintf(target->obstacle, sizeof(target->obstacle), "%s", err_message());
    return 0;
}

static int by_pid(const void *one, const void *other)
{
    return ((const struct target *)one)->pid - ((const struct target *)other)->pid;
}

int target_list(struct target **targets, size_t *count)
{
    *targets = NULL;
    *count = 0;
    DIR *directory = opendir("/proc");
    if (!directory)
        return err_set(errno, "cannot read /proc: %s", strerror(errno));
    const struct dirent *entry;
    int error = 0;
    while (!error && (entry = readdir(directory))) {
        struct target target;
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            target_inspect((pid_t)strtol(entry->d_name, NULL, 10), &target) || !target.kind[0])
            continue;
        struct target *grown = realloc(*targets, (*count + 1) * sizeof(**targets));
        if (!grown) {
            error = err_no_memory();
            continue;
        }
        *targets = grown;
        grown[(*count)++] = target;
    }
    closedir(directory);
    if (error) {
        free(*targets);
        *targets = NULL;
        *count = 0;
    } else if (*count) {
        qsort(*targets, *count, sizeof(**targets), by_pid);
    }
    return error;
}

int target_find_osd(const char *id, struct target *target)
{
    struct target *targets;
    size_t count, found = 0;
    int error = target_list(&targets, &count);
    if (error)
        return error;
    char pids[128] = "";
    bool hidden = false; /* one whose id we could not see */
    for (size_t i = 0; i < count; i++) {
        if (strcmp(targets[i].kind, "ceph-osd") != 0)
            continue;
        hidden = hidden || (!targets[i].id[0] && targets[i].obstacle[0]);
        if (strcmp(targets[i].id, id) != 0)
            continue;
        *target = targets[i];
        found++;
        size_t used = strlen(pids);
        snprintf(pids + used, sizeof(pids) - used, " %d", targets[i].pid);
    }
    free(targets);
    if (found == 0 && hidden && geteuid() != 0)
        return err_set(ENOENT, "no osd.%s is to be seen, but others' daemons run here: run as root",
                       id);
    if (found == 0)
        return err_set(ENOENT, "no osd.%s runs here: optrail list shows the daemons that do", id);
    if (found > 1)
        return err_set(EEXIST, "several osd.%s run here: choose one with -p, of pids%s", id, pids);
    return 0;
}
