/* SPDX-License-Identifier: MIT */
#include "daemon_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_log.h"
#include "inject.h"

enum option_kind { KIND_NUMBER, KIND_BYTES, KIND_TIME, KIND_CHOICE, KIND_TEXT, KIND_INJECT };

#define CHOICES_MAX 3

struct option_row {
    const char *name;
    enum option_kind kind;
    const char *argument; /* for the help */
    size_t field;         /* KIND_INJECT: the point that a TIME sets, or INJECT_COUNT */
    uint64_t preset, minimum, maximum;
    const char *choices[CHOICES_MAX]; /* KIND_CHOICE */
    const char *text;
};

#define FIELD(name) offsetof(struct daemon_options, name)
#define NUMBER(name, field, preset, minimum, maximum, text)                                        \
    {                                                                                              \
        name, KIND_NUMBER, "N", FIELD(field), preset, minimum, maximum, {0}, text                  \
    }
#define BYTES(name, field, preset, minimum, maximum, text)                                         \
    {                                                                                              \
        name, KIND_BYTES, "BYTES", FIELD(field), preset, minimum, maximum, {0}, text               \
    }
#define TIME(name, field, preset, text)                                                            \
    {                                                                                              \
        name, KIND_TIME, "TIME", FIELD(field), preset, 0, UINT64_MAX, {0}, text                    \
    }
#define CHOICE(name, field, preset, text, ...)                                                     \
    {                                                                                              \
        name, KIND_CHOICE, "WORD", FIELD(field), preset, 0, 0, {__VA_ARGS__}, text                 \
    }
#define TEXT(name, argument, field, text)                                                          \
    {                                                                                              \
        name, KIND_TEXT, argument, FIELD(field), 0, 0, 0, {0}, text                                \
    }
#define DELAY(name, argument, point, text)                                                         \
    {                                                                                              \
        name, KIND_INJECT, argument, point, 0, 0, 0, {0}, text                                     \
    }

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static const struct option_row rows[] = {
    NUMBER("port", port, 0, 0, 65535, "TCP port on 127.0.0.1; 0: a free one"),
    TEXT("data", "DIR", data, "directory of objects and journal (filestore)"),
    CHOICE("store", store, STORE_FILESTORE, "object store", "filestore", "memstore"),
    CHOICE("messenger", messenger, MESSENGER_SIMPLE,
           "two threads a connection, or workers for all of them", "simple", "async"),
    NUMBER("messenger-workers", messenger_workers, 3, 1, 256, "workers of the async messenger"),
    NUMBER("max-connections", max_connections, 4096, 1, 65536, "connections at once"),
    TIME("frame-timeout", frame_timeout_ns, 30000000000, "a frame must be whole within this time"),
    BYTES("message-throttle", message_throttle, 100 * MIB, 1, 1024 * GIB,
          "payload bytes that all requests may hold together"),
    NUMBER("shards", shards, 5, 1, 1024, "shards of the op queue"),
    NUMBER("threads-per-shard", threads_per_shard, 1, 1, 256, "workers of each shard"),
    NUMBER("placement-groups", placement_groups, 16, 1, 65536, "placement groups"),
    NUMBER("apply-threads", apply_threads, 2, 1, 256, "threads that apply journaled writes"),
    NUMBER("queue-max-ops", queue_max_ops, 50, 1, 1000000, "writes inside the filestore at once"),
    BYTES("journal-size", journal_size, 64 * MIB, 16 * MIB, 64 * GIB, "size of the journal"),
    TIME("sync-interval", sync_interval_ns, 5000000000, "sync files and trim the journal so often"),
    BYTES("reserve", reserve, MIB, 0, 1024 * GIB, "refuse writes when less of the disk is free"),
    NUMBER("fd-cache", fd_cache, 128, 0, 1000000, "files kept open; 0: none"),
    NUMBER("fd-cache-shards", fd_cache_shards, 16, 1, 1024, "shards of the fd cache"),
    CHOICE("index-lock", index_lock, LOCK_NARROW, "how wide the directory index lock is",
           "placement-group", "global"),
    CHOICE("memstore-lock", memstore_lock, LOCK_NARROW, "how wide the memstore lock is",
           "collection", "global"),
    CHOICE("wbthrottle", wbthrottle, SWITCH_ON, "writeback throttle", "off", "on"),
    NUMBER("wbthrottle-start", wbthrottle_start, 500, 1, 1000000, "dirty writes to begin syncing"),
    NUMBER("wbthrottle-limit", wbthrottle_limit, 5000, 1, 1000000, "dirty writes that block"),
    CHOICE("sync", sync, SYNC_FDATASYNC, "how the writeback throttle syncs", "fsync", "fdatasync",
           "none"),
    CHOICE("ack", ack, ACK_APPLIED, "answer writes when journaled and readable, or when journaled",
           "applied", "journaled"),
    DELAY("inject", "POINT=TIME", INJECT_COUNT, "a delay of this size there; may be repeated"),
    DELAY("slow-journal", "TIME", INJECT_SLOW_JOURNAL, "a journal device this much slower"),
    DELAY("slow-disk", "TIME", INJECT_SLOW_DISK, "a data device this much slower"),
    TEXT("pid-file", "FILE", pid_file, "write the process id there"),
    TEXT("stats", "FILE", stats, "write counters as JSON there at SIGUSR1 and at the end"),
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

static uint64_t *number_of(struct daemon_options *options, const struct option_row *row)
{
    return (uint64_t *)(void *)((char *)options + row->field);
}

static void print_help(void)
{
    puts("Usage: ministore [options]\n"
         "A small storage daemon whose every stage is marked by probes.\n\nOptions:");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct option_row *row = &rows[i];
        char left[64], preset[96] = "";
        if (row->kind == KIND_CHOICE) {
            snprintf(left, sizeof(left), "--%s %s|%s%s%s", row->name, row->choices[0],
                     row->choices[1], row->choices[2] ? "|" : "",
                     row->choices[2] ? row->choices[2] : "");
            snprintf(preset, sizeof(preset), " (%s)", row->choices[row->preset]);
        } else {
            snprintf(left, sizeof(left), "--%s %s", row->name, row->argument);
            if (row->kind == KIND_TIME)
                snprintf(preset, sizeof(preset), " (%gs)", (double)row->preset / 1e9);
            else if (row->kind == KIND_NUMBER || row->kind == KIND_BYTES)
                snprintf(preset, sizeof(preset), " (%llu)", (unsigned long long)row->preset);
        }
        printf("  %-38s %s%s\n", left, row->text, preset);
    }
    puts("\nPOINT is one of:");
    inject_write_help(stdout);
    puts("\nTIME is a number and ns, us, ms or s. SIGTERM ends it: what was received is answered.");
}

static int parse_number(const struct option_row *row, const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (row->kind == KIND_BYTES && end != text && *end) {
        static const char units[] = "KMG";
        const char *unit = strchr(units, *end);
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        if (!unit || value > UINT64_MAX >> shift)
            errno = EINVAL;
        value <<= shift;
        end++;
    }
    if (end == text || *end || *text == '-' || errno || value < row->minimum ||
        value > row->maximum)
        return log_error("--%s %s: it must be a number from %llu to %llu", row->name, text,
                         (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    *number = value;
    return 0;
}

static int parse_choice(const struct option_row *row, const char *text, uint64_t *number)
{
    for (uint64_t i = 0; i < CHOICES_MAX && row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *number = i;
            return 0;
        }
    }
    return log_error("--%s %s: it must be one of %s, %s%s%s", row->name, text, row->choices[0],
                     row->choices[1], row->choices[2] ? ", " : "",
                     row->choices[2] ? row->choices[2] : "");
}

static int parse_value(struct daemon_options *options, const struct option_row *row, char *text)
{
    uint64_t delay_ns;
    switch (row->kind) {
    case KIND_NUMBER:
    case KIND_BYTES:
        return parse_number(row, text, number_of(options, row));
    case KIND_CHOICE:
        return parse_choice(row, text, number_of(options, row));
    case KIND_TIME:
        if (inject_parse_time(text, number_of(options, row)) != 0)
            break;
        return 0;
    case KIND_TEXT:
        *(const char **)(void *)number_of(options, row) = text;
        return 0;
    case KIND_INJECT:
        if (row->field == INJECT_COUNT)
            return inject_parse(text);
        if (inject_parse_time(text, &delay_ns) != 0)
            break;
        inject_set((enum inject_point)row->field, delay_ns);
        return 0;
    }
    return log_error("--%s %s: it must look like 200us, 1ms or 2s, at most 60s", row->name, text);
}

int daemon_options_parse(struct daemon_options *options, int argc, char **argv)
{
    *options = (struct daemon_options){0};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].kind != KIND_TEXT && rows[i].kind != KIND_INJECT)
            *number_of(options, &rows[i]) = rows[i].preset;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help();
            return 1;
        }
        const struct option_row *row = NULL;
        for (size_t j = 0; j < ROW_COUNT && !row; j++) {
            if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, rows[j].name) == 0)
                row = &rows[j];
        }
        if (!row)
            return log_error("%s: no such option; --help lists them", argv[i]);
        if (i + 1 == argc)
            return log_error("%s: its %s is missing", argv[i], row->argument);
        if (parse_value(options, row, argv[++i]) != 0)
            return -1;
    }
    if (options->store == STORE_FILESTORE && !options->data)
        return log_error("a filestore needs --data DIR");
    if (options->wbthrottle_start > options->wbthrottle_limit)
        return log_error("--wbthrottle-start must not be above --wbthrottle-limit");
    return 0;
}
