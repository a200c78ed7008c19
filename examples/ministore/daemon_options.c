/* SPDX-License-Identifier: MIT */
#include "daemon_options.h"

#include <stddef.h>
#include <stdio.h>

#include "daemon_log.h"
#include "inject.h"
#include "option_rows.h"
#include "replication.h"

#define FIELD(name) .field = offsetof(struct daemon_options, name)
#define NUMBER(option, member, preset_, minimum_, maximum_, text_)                                 \
    {                                                                                              \
        .name = option, .kind = OPTION_NUMBER, .argument = "N", FIELD(member), .preset = preset_,  \
        .minimum = minimum_, .maximum = maximum_, .text = text_                                    \
    }
#define BYTES(option, member, preset_, minimum_, maximum_, text_)                                  \
    {                                                                                              \
        .name = option, .kind = OPTION_BYTES, .argument = "BYTES", FIELD(member),                  \
        .preset = preset_, .minimum = minimum_, .maximum = maximum_, .text = text_                 \
    }
#define TIME(option, member, preset_, text_)                                                       \
    {                                                                                              \
        .name = option, .kind = OPTION_TIME, .argument = "TIME", FIELD(member), .preset = preset_, \
        .text = text_                                                                              \
    }
#define CHOICE(option, member, preset_, text_, ...)                                                \
    {                                                                                              \
        .name = option, .kind = OPTION_CHOICE, FIELD(member), .preset = preset_,                   \
        .choices = {__VA_ARGS__}, .text = text_                                                    \
    }
#define TEXT(option, argument_, member, text_)                                                     \
    {                                                                                              \
        .name = option, .kind = OPTION_TEXT, .argument = argument_, FIELD(member), .text = text_   \
    }
#define CALL(option, argument_, set_, text_)                                                       \
    {                                                                                              \
        .name = option, .kind = OPTION_CALL, .argument = argument_, .set = set_, .text = text_     \
    }

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static int set_slow(enum inject_point point, const char *option, const char *text)
{
    uint64_t delay_ns;
    if (inject_parse_time(text, &delay_ns) != 0)
        return log_error("%s %s: it must look like 200us, 1ms or 2s, at most 60s", option, text);
    inject_set(point, delay_ns);
    return 0;
}

static int set_slow_journal(const char *text)
{
    return set_slow(INJECT_SLOW_JOURNAL, "--slow-journal", text);
}

static int set_slow_disk(const char *text)
{
    return set_slow(INJECT_SLOW_DISK, "--slow-disk", text);
}

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
    CHOICE("account-lock", account_lock, ACCOUNT_NONE,
           "count ops behind one lock for all of them; spin: by test and set, with short sleeps",
           "none", "mutex", "spin"),
    NUMBER("allocator-storm", allocator_storm, 0, 0, 10000,
           "let each op allocate so many large blocks, all from one arena; 0: none"),
    CHOICE("lock-stats", lock_stats, SWITCH_OFF,
           "measure how long each lock is held (--stats has it; waits it has always)", "off", "on"),
    CHOICE("wbthrottle", wbthrottle, SWITCH_ON, "writeback throttle", "off", "on"),
    NUMBER("wbthrottle-start", wbthrottle_start, 500, 1, 1000000, "dirty writes to begin syncing"),
    NUMBER("wbthrottle-limit", wbthrottle_limit, 5000, 1, 1000000, "dirty writes that block"),
    CHOICE("sync", sync, SYNC_FDATASYNC, "how the writeback throttle syncs", "fsync", "fdatasync",
           "none"),
    CHOICE("ack", ack, ACK_APPLIED, "answer writes when journaled and readable, or when journaled",
           "applied", "journaled"),
    CALL("peer", "HOST:PORT", replication_add_peer,
         "a ministore that gets a copy of each write; may be repeated"),
    TIME("peer-timeout", peer_timeout_ns, 30000000000, "leave a peer out that is silent so long"),
    CALL("inject", "POINT=TIME", inject_parse, "a delay of this size there; may be repeated"),
    CALL("slow-journal", "TIME", set_slow_journal, "a journal device this much slower"),
    CALL("slow-disk", "TIME", set_slow_disk, "a data device this much slower"),
    TEXT("pid-file", "FILE", pid_file, "write the process id there"),
    TEXT("stats", "FILE", stats, "write counters as JSON there at SIGUSR1 and at the end"),
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

int daemon_options_parse(struct daemon_options *options, int argc, char **argv)
{
    int words = option_rows_parse(rows, ROW_COUNT, options, argc, argv, NULL, 0);
    if (words == -2) {
        puts("Usage: ministore [options]\n"
             "A small storage daemon whose every stage is marked by probes.\n\nOptions:");
        option_rows_help(rows, ROW_COUNT);
        puts("\nPOINT is one of:");
        inject_write_help(stdout);
        puts("\nTIME is a number and ns, us, ms or s.\n"
             "SIGTERM ends the daemon: what it has received is answered before.");
        return 1;
    }
    if (words != 0)
        return -1;
    if (options->store == STORE_FILESTORE && !options->data)
        return log_error("a filestore needs --data DIR");
    if (options->wbthrottle_start > options->wbthrottle_limit)
        return log_error("--wbthrottle-start must not be above --wbthrottle-limit");
    return 0;
}
