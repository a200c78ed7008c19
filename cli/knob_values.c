/* SPDX-License-Identifier: MIT */
#include "knob_values.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#ifdef OPTRAIL_HAVE_BENCH
#include "admin_socket.h"
#endif

#define VALUE 128

/* The value of --name VALUE or --name=VALUE on the process's command line. */
static bool from_command_line(const struct target *target, const char *name, char *value)
{
    char file[64], words[8192];
    snprintf(file, sizeof(file), "/proc/%d/cmdline", target->pid);
    FILE *in = fopen(file, "re");
    size_t size = in ? fread(words, 1, sizeof(words) - 1, in) : 0, length = strlen(name);
    if (in)
        fclose(in);
    words[size] = '\0';
    for (const char *word = words; word < words + size; word += strlen(word) + 1) {
        const char *after = word + 2 + length, *next = word + strlen(word) + 1;
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, length) != 0)
            continue;
        if (*after == '=')
            snprintf(value, VALUE, "%s", after + 1);
        else if (*after == '\0' && next < words + size)
            snprintf(value, VALUE, "%s", next);
        else
            continue;
        return true;
    }
    return false;
}

/* What `config get` says. */
static bool from_admin_socket(const struct target *target, const char *name, char *value)
{
#ifdef OPTRAIL_HAVE_BENCH
    char socket[PATH_MAX], command[256], *answer = NULL;
    bool found = false;
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name) ||
        admin_socket_find(target->pid, socket, sizeof(socket)) < 0)
        return false;
    snprintf(command, sizeof(command), "{\"prefix\":\"config get\",\"var\":\"%.100s\"}", name);
    if (admin_socket_ask(socket, command, &answer) < 0)
        return false;
    json_t *json = json_loads(answer, 0, NULL);
    const char *text = json_string_value(json_object_get(json, name));
    if (text) {
        snprintf(value, VALUE, "%s", text);
        found = true;
    }
    json_decref(json);
    free(answer);
    return found;
#else
    (void)target;
    (void)name;
    (void)value;
    return false;
#endif
}

/* The value that all of them have which have one. */
static bool find_value(const struct target *targets, size_t count, const char *name, char *value)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        char one[VALUE];
        bool ceph = strncmp(targets[i].kind, "ceph-", 5) == 0;
        if (!(ceph ? from_admin_socket : from_command_line)(&targets[i], name, one))
            continue;
        if (found && strcmp(one, value) != 0)
            return false;
        snprintf(value, VALUE, "%s", one);
        found = true;
    }
    return found;
}

/* "NAME = VALUE". Of some options 0 means that another one rules, NAME_hdd or NAME_ssd by the kind
 * of the device: both are told. Owned by the caller; NULL: out of memory. */
static char *words_of(const struct target *targets, size_t count, const char *name,
                      const char *value)
{
    char option[VALUE], values[2][VALUE], *text = NULL;
    bool by_device = strcmp(value, "0") == 0;
    for (int i = 0; i < 2 && by_device; i++) {
        snprintf(option, sizeof(option), "%.100s%s", name, i == 0 ? "_hdd" : "_ssd");
        by_device = find_value(targets, count, option, values[i]);
    }
    int length = by_device
                     ? asprintf(&text, "%s = 0 (_hdd = %s, _ssd = %s)", name, values[0], values[1])
                     : asprintf(&text, "%s = %s", name, value);
    return length < 0 ? NULL : text;
}

int knob_values_add(struct report *report, const struct target *targets, size_t count)
{
    for (size_t i = 0; i < report->verdict_count; i++)
        for (char **knob = report->verdicts[i].knobs; knob && *knob; knob++) {
            char value[VALUE];
            if (!find_value(targets, count, *knob, value))
                continue;
            char *text = words_of(targets, count, *knob, value);
            if (!text)
                return err_no_memory();
            free(*knob);
            *knob = text;
        }
    return 0;
}
