/* SPDX-License-Identifier: MIT */
#include "target_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "escape.h"
#include "path.h"

static int check_traceable(const struct target *target, bool any)
{
    if (target->obstacle[0])
        return err_set(EPERM, "pid %d cannot be traced: %s", target->pid, target->obstacle);
    if (!target->kind[0] && !any)
        return err_set(ENOENT,
                       "pid %d is no storage daemon that optrail knows, nor does it carry "
                       "optrail's probes: optrail list shows those that do",
                       target->pid);
    return 0;
}

/* The whole word as a number from `least` on; -1: it is none. */
static int number_of(const struct option_word *word, int least)
{
    char *end;
    errno = 0;
    long number = strtol(word->text, &end, 10);
    if (errno || !isdigit((unsigned char)word->text[0]) || end != word->text + word->length ||
        number < least || number > INT_MAX)
        return -1;
    return (int)number;
}

static int check_words(const struct target_options *options)
{
    for (size_t i = 0; i < options->pids.count; i++) {
        const struct option_word *word = &options->pids.words[i];
        if (number_of(word, 1) < 0)
            return err_set(EINVAL, "--pid: '%.*s' is no process number", (int)word->length,
                           word->text);
    }
    for (size_t i = 0; i < options->osds.count; i++) {
        const struct option_word *word = &options->osds.words[i];
        if (number_of(word, 0) < 0)
            return err_set(EINVAL, "--osd: '%.*s' is no OSD's number", (int)word->length,
                           word->text);
    }
    return 0;
}

static int by_pid(const struct option_word *word, struct target *target)
{
    return target_inspect((pid_t)number_of(word, 1), target);
}

static int by_id(const struct option_word *word, struct target *target)
{
    char id[sizeof(target->id)];
    snprintf(id, sizeof(id), "%.*s", (int)word->length, word->text);
    return target_find_osd(id, target);
}

static bool is_among(const struct target *targets, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (targets[i].pid == pid)
            return true;
    return false;
}

static int choose_named(const struct option_words *words, bool any, struct target *targets,
                        size_t *count,
                        int (*find)(const struct option_word *word, struct target *target))
{
    for (size_t i = 0; i < words->count; i++) {
        struct target target = {0};
        int error = find(&words->words[i], &target);
        if (!error)
            error = check_traceable(&target, any);
        if (error)
            return error;
        if (!is_among(targets, *count, target.pid))
            targets[(*count)++] = target;
    }
    return 0;
}

/* Leaves the OSDs that can be traced in *targets. */
static int choose_all(struct target **targets, size_t *count)
{
    size_t listed, kept = 0;
    int error = target_list(targets, &listed);
    if (error)
        return error;
    const char *obstacle = "";
    for (size_t i = 0; i < listed; i++) {
        struct target *target = &(*targets)[i];
        if (strcmp(target->kind, "ceph-osd") != 0)
            continue;
        if (target->obstacle[0]) {
            char name[96];
            target_short_name(target, name, sizeof(name));
            fprintf(stderr, "optrail: %s (pid %d) is left out: %s\n", name, target->pid,
                    target->obstacle);
            obstacle = target->obstacle;
            continue;
        }
        (*targets)[kept++] = *target;
    }
    *count = kept;
    if (kept > 0)
        return 0;
    error = *obstacle ? err_set(EPERM, "no ceph-osd of this host can be traced: %s", obstacle)
                      : err_set(ENOENT, "no ceph-osd runs on this host");
    free(*targets);
    *targets = NULL;
    return error;
}

int target_options_check(const struct target_options *options)
{
    int ways = (options->pids.count > 0) + (options->osds.count > 0) + options->all;
    if (ways == 1)
        return check_words(options);
    if (ways > 1)
        return err_set(EINVAL, "say which daemons by one of -p, --osd and --all, not by several");
    return err_set(EINVAL, "say which daemons: -p PID or --osd ID, or --all (optrail list shows "
                           "them)");
}

static int choose(const struct target_options *options, bool any, struct target **targets,
                  size_t *count)
{
    *targets = NULL;
    *count = 0;
    int error = target_options_check(options);
    if (error)
        return error;
    if (options->all)
        return choose_all(targets, count);
    *targets = calloc(options->pids.count + options->osds.count, sizeof(**targets));
    if (!*targets)
        return err_no_memory();
    error = choose_named(&options->pids, any, *targets, count, by_pid);
    if (!error)
        error = choose_named(&options->osds, false, *targets, count, by_id);
    if (!error)
        return 0;
    free(*targets);
    *targets = NULL;
    *count = 0;
    return error;
}

int target_options_choose(const struct target_options *options, struct target **targets,
                          size_t *count)
{
    return choose(options, false, targets, count);
}

int target_options_choose_any(const struct target_options *options, struct target **targets,
                              size_t *count)
{
    return choose(options, true, targets, count);
}

void target_command_name(struct target *target)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", target->pid);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(target->kind, sizeof(target->kind), file))
        snprintf(target->kind, sizeof(target->kind), "process");
    target->kind[strcspn(target->kind, "\n")] = '\0';
    if (file)
        fclose(file);
}

void target_full_name(const struct target *target, char *name, size_t size)
{
    char raw[256];

    if (strcmp(target->kind, "ceph-osd") == 0)
        snprintf(raw, sizeof(raw), "osd.%s (%s %s%s%s, pid %d)", target->id, target->kind,
                 target->version, target->store[0] ? ", " : "", target->store, target->pid);
    else
        snprintf(raw, sizeof(raw), "%s (pid %d)", target->kind, target->pid);
    escape_for_terminal(raw, name, size);
}

void target_short_name(const struct target *target, char *name, size_t size)
{
    char raw[96];

    if (target->id[0])
        snprintf(raw, sizeof(raw), "%s.%s",
                 target->kind + (strncmp(target->kind, "ceph-", 5) == 0 ? 5 : 0), target->id);
    else
        snprintf(raw, sizeof(raw), "%s %d", target->kind, target->pid);
    escape_for_terminal(raw, name, size);
}

const char *target_path_file(const struct target *target, char *file, size_t size)
{
    if (strncmp(target->kind, "ceph-", 5) != 0 || strchr(target->store, '/'))
        return NULL;
    int length = snprintf(file, size, "%s/ceph-%s.yaml", path_default_directory(), target->store);
    return length < (int)size && access(file, R_OK) == 0 ? file : NULL;
}
