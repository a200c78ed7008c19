/* SPDX-License-Identifier: MIT */
#include "op_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "admin_socket.h"
#include "clock_ns.h"
#include "err.h"

#define PATIENCE_NS 10000000000ull

struct op_counter {
    pid_t pid;
    const struct counter_row *row; /* weak */
    char place[PATH_MAX];          /* the admin socket; the file of counters */
};

static int open_ceph(struct op_counter *counter)
{
    return admin_socket_find(counter->pid, counter->place, sizeof(counter->place));
}

static int read_ceph(struct op_counter *counter, struct op_count *count)
{
    char *answer = NULL;
    json_int_t ops = 0, timed = 0;
    double seconds = 0;
    int result =
        admin_socket_ask(counter->place, "{\"prefix\":\"perf dump\",\"logger\":\"osd\"}", &answer);

    if (result < 0)
        return result;
    json_t *tree = json_loads(answer, 0, NULL);
    free(answer);
    /* op_latency: from the message's first byte to the reply, over `avgcount` ops */
    if (json_unpack(tree, "{s:{s:I,s:{s:I,s:F}}}", "osd", "op", &ops, "op_latency", "avgcount",
                    &timed, "sum", &seconds) != 0)
        result =
            err_set(EBADMSG, "%s: `perf dump` tells no osd.op and osd.op_latency", counter->place);
    json_decref(tree);
    count->ops = (uint64_t)ops;
    count->has_latency = timed == ops;
    count->latency_ns = seconds * 1e9;
    return result;
}

/* The file of counters is the daemon's option --stats. */
static int open_ministore(struct op_counter *counter)
{
    char name[64], words[8192];

    snprintf(name, sizeof(name), "/proc/%d/cmdline", counter->pid);
    FILE *file = fopen(name, "re");
    size_t size = file ? fread(words, 1, sizeof(words) - 1, file) : 0;
    if (file)
        fclose(file);
    words[size] = '\0';
    for (char *word = words; word < words + size; word += strlen(word) + 1) {
        const char *value = word + strlen(word) + 1;
        if (strcmp(word, "--stats") != 0 || value >= words + size)
            continue;
        snprintf(counter->place, sizeof(counter->place), "/proc/%d/%s%s", counter->pid,
                 *value == '/' ? "root" : "cwd/", value);
        return 0;
    }
    return err_set(ENOTSUP, "pid %d does not tell its counters: start ministore with --stats FILE",
                   counter->pid);
}

/* Asks by a signal; the daemon puts a new file in the place of the old one. */
static int read_ministore(struct op_counter *counter, struct op_count *count)
{
    struct stat before = {0}, after = {0};
    uint64_t deadline = monotonic_ns() + PATIENCE_NS;
    const char *type;
    json_t *ops, *row;

    stat(counter->place, &before);
    if (kill(counter->pid, SIGUSR1))
        return err_set(errno, "pid %d: %s", counter->pid, strerror(errno));
    while (stat(counter->place, &after) ||
           (after.st_ino == before.st_ino && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)) {
        if (monotonic_ns() > deadline || kill(counter->pid, 0))
            return err_set(ETIMEDOUT, "pid %d writes no counters", counter->pid);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    json_t *tree = json_load_file(counter->place, 0, NULL);
    count->ops = 0;
    ops = json_object_get(tree, "ops");
    json_object_foreach(ops, type, row) count->ops +=
        (uint64_t)json_integer_value(json_object_get(row, "count"));
    int result = ops ? 0 : err_set(EBADMSG, "%s: it has no `ops`", counter->place);
    json_decref(tree);
    return result;
}

/* How each kind of daemon is asked. */
static const struct counter_row {
    const char *kind;
    int (*open)(struct op_counter *counter);
    int (*read)(struct op_counter *counter, struct op_count *count);
} rows[] = {
    {"ceph-osd", open_ceph, read_ceph},
    {"ministore", open_ministore, read_ministore},
};

int op_counter_open(const struct target *target, struct op_counter **result)
{
    const struct counter_row *row = NULL;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].kind, target->kind) == 0)
            row = &rows[i];
    if (!row)
        return err_set(ENOTSUP, "how to ask a %s for its number of ops is not known",
                       target->kind[0] ? target->kind : "process of this kind");
    struct op_counter *counter = calloc(1, sizeof(*counter));
    if (!counter)
        return err_no_memory();
    counter->pid = target->pid;
    counter->row = row;
    int error = row->open(counter);
    if (error)
        free(counter);
    else
        *result = counter;
    return error;
}

void op_counter_close(struct op_counter *counter)
{
    free(counter);
}

int op_counter_read(struct op_counter *counter, struct op_count *count)
{
    uint64_t before = monotonic_ns();

    *count = (struct op_count){0};
    int result = counter->row->read(counter, count);
    count->time_ns = before + (monotonic_ns() - before) / 2;
    return result;
}
