/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "err.h"
#include "probe_levels.h"
#include "suggest.h"
#include "target.h"

static const char *format = "text";

static const struct option_row options[] = {
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &format,
     .text = "text (the default) or json"},
    {0},
};

/* A column of the table: its title, its width, and how it is filled. */
struct column {
    const char *title;
    int width;
    void (*fill)(const struct target *target, char *cell, size_t size);
};

static void fill_pid(const struct target *target, char *cell, size_t size)
{
    snprintf(cell, size, "%d", target->pid);
}

/* Another process's words: nothing that a terminal would act upon. */
static void fill_text(const char *text, char *cell, size_t size)
{
    snprintf(cell, size, "%s", text[0] ? text : "-");
    for (char *byte = cell; *byte; byte++)
        if ((unsigned char)*byte < ' ' || (unsigned char)*byte > '~')
            *byte = '?';
}

static void fill_kind(const struct target *target, char *cell, size_t size)
{
    fill_text(target->kind, cell, size);
}

static void fill_id(const struct target *target, char *cell, size_t size)
{
    fill_text(target->id, cell, size);
}

static void fill_version(const struct target *target, char *cell, size_t size)
{
    fill_text(target->version, cell, size);
}

static void fill_store(const struct target *target, char *cell, size_t size)
{
    fill_text(target->store, cell, size);
}

/* "yes, probes: 3 basic, 53 standard, 70 deep" */
static void fill_levels(const struct target *target, char *cell, size_t size)
{
    size_t probes[DETAIL_COUNT], used = 0, levels = 0;
    char reason[200];
    if (probe_levels_read(target, probes)) {
        fill_text(err_message(), reason, sizeof(reason));
        snprintf(cell, size, "no: %s", reason);
        return;
    }
    for (int detail = DETAIL_BASIC; detail < DETAIL_COUNT; detail++)
        if (probes[detail] && used < size)
            used += (size_t)snprintf(cell + used, size - used, "%s%zu %s",
                                     levels++ ? ", " : "yes, probes: ", probes[detail],
                                     probe_detail_names[detail]);
    if (levels == 0)
        snprintf(cell, size, "no: the program lacks functions that every level of detail needs");
}

static void fill_traceable(const struct target *target, char *cell, size_t size)
{
    char reason[sizeof(target->obstacle)];
    fill_text(target->obstacle, reason, sizeof(reason));
    if (target->obstacle[0])
        snprintf(cell, size, "no: %s", reason);
    else if (target->usdt_probes)
        snprintf(cell, size, "yes, by its %d probes", target->usdt_probes);
    else
        fill_levels(target, cell, size);
}

static const struct column columns[] = {
    {"PID", 8, fill_pid},         {"KIND", 10, fill_kind},   {"ID", 6, fill_id},
    {"VERSION", 9, fill_version}, {"STORE", 10, fill_store}, {"TRACEABLE", 0, fill_traceable},
};

static void print_table(const struct target *targets, size_t count)
{
    const size_t last = sizeof(columns) / sizeof(columns[0]) - 1;
    for (size_t i = 0; i < last; i++)
        printf("%-*s ", columns[i].width, columns[i].title);
    printf("%s\n", columns[last].title);
    for (size_t t = 0; t < count; t++) {
        char cell[256];
        for (size_t i = 0; i <= last; i++) {
            columns[i].fill(&targets[t], cell, sizeof(cell));
            printf("%-*s%s", columns[i].width, cell, i == last ? "\n" : " ");
        }
    }
}

/* By level: how many probes; 0: it cannot be probed. */
static int add_levels(json_t *row, const struct target *target)
{
    size_t probes[DETAIL_COUNT] = {0};
    json_t *levels = json_object();
    int error = probe_levels_read(target, probes);
    if (error) {
        memset(probes, 0, sizeof(probes));
        if (json_object_set_new(row, "traceable", json_false()) ||
            json_object_set_new(row, "reason", json_string(err_message())))
            return -1;
    }
    for (int detail = DETAIL_BASIC; levels && detail < DETAIL_COUNT; detail++)
        if (json_object_set_new(levels, probe_detail_names[detail],
                                json_integer((json_int_t)probes[detail])))
            return -1;
    return json_object_set_new(row, "probes", levels);
}

static int print_json(const struct target *targets, size_t count)
{
    json_t *list = json_array();
    bool break_off = false;
    for (size_t i = 0; list && i < count; i++) {
        const struct target *target = &targets[i];
        json_t *row = json_pack("{s:i,s:s,s:s,s:s,s:s,s:b,s:i,s:s}", "pid", (int)target->pid,
                                "kind", target->kind, "id", target->id, "version", target->version,
                                "store", target->store, "traceable", !target->obstacle[0],
                                "usdt_probes", target->usdt_probes, "reason", target->obstacle);
        if (row && !target->obstacle[0] && add_levels(row, target)) {
            json_decref(row);
            row = NULL;
            break_off = true;
        }
        if (!row && !break_off) /* words that are no UTF-8 */
            row = json_pack("{s:i,s:b,s:s}", "pid", (int)target->pid, "traceable", 0, "reason",
                            "its command line is no text");
        if (!row || json_array_append_new(list, row)) {
            json_decref(list);
            list = NULL;
        }
    }
    if (!list)
        return err_no_memory();
    json_dumpf(list, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(list);
    return 0;
}

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    bool json;
    struct target *targets;
    size_t count;
    int error = format_is_json(format, &json);
    if (!error)
        error = target_list(&targets, &count);
    if (error)
        return error;
    if (json)
        error = print_json(targets, count);
    else if (count)
        print_table(targets, count);
    else
        puts("no storage daemon runs on this host");
    free(targets);
    if (!error && (fflush(stdout) || ferror(stdout)))
        error = err_set(errno, "cannot write the list: %s", strerror(errno));
    return error;
}

extern const struct command command_list;
const struct command command_list = {
    .name = "list",
    .arguments = "",
    .summary = "storage daemons on this host, and whether they can be traced",
    .text = "Lists ceph-osd, ceph-mon, ceph-mgr, ministore and every other process that carries "
            "optrail's probes: pid, kind, id, version, object store, and whether `optrail attach` "
            "can trace it, with how many probes at each level of detail (`--detail`), or why not.",
    .examples = "optrail list\tshow them\noptrail list --format json\tthe same for programs",
    .options = options,
    .run = run,
};
