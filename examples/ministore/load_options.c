/* SPDX-License-Identifier: MIT */
#include "load_options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_log.h"
#include "inject.h"
#include "option_rows.h"
#include "protocol.h"

#define FIELD(name) .field = offsetof(struct load_options, name)
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
#define TEXT(option, argument_, member, text_)                                                     \
    {                                                                                              \
        .name = option, .kind = OPTION_TEXT, .argument = argument_, FIELD(member), .text = text_   \
    }
#define SWITCH(option, member, text_)                                                              \
    {                                                                                              \
        .name = option, .kind = OPTION_SWITCH, FIELD(member), .text = text_                        \
    }

#define CHOICE(option, member, preset_, text_, ...)                                                \
    {                                                                                              \
        .name = option, .kind = OPTION_CHOICE, FIELD(member), .preset = preset_,                   \
        .choices = {__VA_ARGS__}, .text = text_                                                    \
    }
#define CALL(option, argument_, set_, text_)                                                       \
    {                                                                                              \
        .name = option, .kind = OPTION_CALL, .argument = argument_, .set = set_, .text = text_     \
    }

/* The other points are the daemon's. */
static int set_inject(const char *text)
{
    static const char ours[] = "client.cache_hold=";
    if (strncmp(text, ours, sizeof(ours) - 1) != 0)
        return log_error("--inject %s: it must read client.cache_hold=TIME; other delays are the "
                         "daemon's",
                         text);
    return inject_parse(text);
}

static const struct option_row rows[] = {
    TEXT("host", "HOST", host, "where the daemon is (127.0.0.1)"),
    NUMBER("port", port, 0, 0, 65535, "its port; must be given"),
    NUMBER("ops", ops, 0, 0, UINT64_MAX, "do exactly so many ops"),
    NUMBER("depth", depth, 16, 1, 1024, "ops in flight, over all connections"),
    NUMBER("threads", threads, 1, 1, 256, "connections, each with its own thread and objects"),
    BYTES("object-size", object_size, 4096, 16, FRAME_MAX_LENGTH, "bytes of an op and an object"),
    NUMBER("objects", objects, 1024, 1, 1u << 28, "different objects"),
    NUMBER("first-object", first_object, 0, 0, UINT64_MAX >> 1, "number of the first object"),
    NUMBER("reads", reads, 50, 0, 100, "percent of reads of the mixed load"),
    NUMBER("seed", seed, 1, 0, UINT64_MAX, "the same seed gives the same sequence of ops"),
    NUMBER("client", client, 0, 0, UINT64_MAX, "client number; 0: made from the process id"),
    BYTES("cache", cache, 0, 0, 1ull << 40, "write-back cache with at most so much dirty"),
    SWITCH("share", share, "all threads use one connection and one cache, as one image"),
    NUMBER("hot-pg", hot_pg, 0, 0, 100, "percent of ops that go to placement group 0"),
    NUMBER("placement-groups", placement_groups, 16, 1, 65536, "how many the daemon has: for that"),
    CALL("inject", "client.cache_hold=TIME", set_inject, "hold the cache's lock so long each time"),
    CHOICE("lock-stats", lock_stats, 0, "measure how long locks are held, for --json", "off", "on"),
    SWITCH("prefill", prefill, "write every object once before"),
    SWITCH("verify", verify, "check what is read; one op at a time on an object"),
    SWITCH("quiet", quiet, "no line a second"),
    TEXT("record", "FILE", record, "remember there what was acknowledged (implies --verify)"),
    TEXT("json", "FILE", json, "write the totals there as well"),
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

static const char *const modes[] = {[LOAD_WRITE] = "write",
                                    [LOAD_RANDREAD] = "randread",
                                    [LOAD_MIXED] = "mixed",
                                    [LOAD_CHECK] = "check"};
#define MODE_COUNT (sizeof(modes) / sizeof(*modes))

static void print_help(void)
{
    puts("Usage: ministore-load write|randread|mixed SECONDS --port N [options]\n"
         "       ministore-load write|randread|mixed --ops N --port N [options]\n"
         "       ministore-load check --record FILE --port N [options]\n"
         "Puts load on a ministore daemon. `check` reads every object of a record and fails when\n"
         "an acknowledged write is not there.\n\nOptions:");
    option_rows_help(rows, ROW_COUNT);
    puts("\nIt exits with 1 when an op failed, data was wrong or the connection broke.");
}

static int check_options(struct load_options *options)
{
    bool check = options->mode == LOAD_CHECK;
    if (!options->port)
        return log_error("--port must be given; the daemon prints it when it starts");
    if (check && !options->record)
        return log_error("check needs --record FILE, as written by an earlier run");
    if (!check && !options->seconds == !options->ops)
        return log_error("say how long: either SECONDS or --ops N");
    if (options->objects < options->threads || options->depth < options->threads)
        return log_error("there must be at least as many --objects and --depth as --threads");
    if (options->object_size % 8)
        return log_error("--object-size must be a multiple of 8");
    if (options->record)
        options->verify = 1;
    if (!options->host)
        options->host = "127.0.0.1";
    if (!options->client)
        options->client = (uint64_t)getpid() << 16;
    return 0;
}

int load_options_parse(struct load_options *options, int argc, char **argv)
{
    const char *words[2] = {NULL, NULL};
    *options = (struct load_options){0};
    int count = option_rows_parse(rows, ROW_COUNT, options, argc, argv, words, 2);
    if (count == -2) {
        print_help();
        return 1;
    }
    if (count < 0)
        return -1;
    size_t mode = 0;
    while (mode < MODE_COUNT && (!words[0] || strcmp(words[0], modes[mode]) != 0))
        mode++;
    if (mode == MODE_COUNT)
        return log_error("say what to do: write, randread, mixed or check; see --help");
    options->mode = (enum load_mode)mode;
    if (words[1]) {
        char *end;
        options->seconds = strtoull(words[1], &end, 10);
        if (*end || words[1][0] == '-' || !options->seconds || options->seconds > 1000000)
            return log_error("%s: SECONDS must be a number from 1 to 1000000", words[1]);
    }
    return check_options(options);
}
