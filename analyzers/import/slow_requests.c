/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "optracker_stages.h"
#include "plural.h"

/* Lines of the OSD's and the cluster's log about slow requests and health. They come wrapped, so
 * line ends count as blanks: a request reaches from its words to the next one's. */
#define MOST_OPS   512
#define MOST_PEERS 64

struct slow_op {
    char name[96];
    double age; /* the oldest that was told, s */
    size_t told;
};

struct log {
    struct import *import;
    const struct evidence *evidence;
    size_t requests, aged, subops, stuck;
    double youngest, oldest;
    struct slow_op ops[MOST_OPS];
    size_t op_count;
    struct {
        long peer;
        size_t alone, requests;
    } peers[MOST_PEERS];
    size_t peer_count;
    char state[96], stuck_on[96];
    double first_rate, top_rate, least_rate;
    size_t rates;
};

static char *flat(const char *text)
{
    char *copy = strdup(text);

    for (char *at = copy; at && *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    return copy;
}

static void count_peer(struct log *log, long peer, bool alone)
{
    size_t i = 0;

    while (i < log->peer_count && log->peers[i].peer != peer)
        i++;
    if (i == MOST_PEERS)
        return;
    log->peers[i].peer = peer;
    log->peers[i].requests++;
    log->peers[i].alone += alone;
    log->peer_count += i == log->peer_count;
}

/* "waiting for subops from 23", "[1]", "1,2" */
static void take_peers(struct log *log, const char *text)
{
    long peers[16];
    size_t count = 0;

    text += strspn(text, " [");
    while (count < 16) {
        char *end;
        long peer = strtol(text, &end, 10);
        if (end == text || peer < 0)
            break;
        peers[count++] = peer;
        if (*end != ',')
            break;
        text = end + 1;
    }
    log->subops += count > 0;
    for (size_t i = 0; i < count; i++)
        count_peer(log, peers[i], count == 1);
}

static void take_name(struct log *log, const char *request, double age)
{
    const char *op = strstr(request, "osd_op(");
    size_t length, i = 0;
    char name[96];

    if (!op)
        op = strstr(request, "osd_repop(");
    if (!op)
        return;
    length = strcspn(op, " )");
    snprintf(name, sizeof(name), "%.*s", (int)(length < 90 ? length : 90), op);
    while (i < log->op_count && strcmp(log->ops[i].name, name) != 0)
        i++;
    if (i == MOST_OPS) {
        import_count(log->import, "ops_without_room", 1);
        return;
    }
    snprintf(log->ops[i].name, sizeof(log->ops[i].name), "%s", name);
    if (age > log->ops[i].age)
        log->ops[i].age = age;
    log->ops[i].told += age > 0;
    log->op_count += i == log->op_count;
}

/* `request` ends where the next one begins. */
static void take_request(struct log *log, const char *request)
{
    const char *state = strstr(request, "currently ");
    double age = 0;
    bool stuck = false;

    if (!strstr(request, "seconds old"))
        return;
    log->requests++;
    /* one whose age cannot be is a request all the same */
    if (import_scan(log->import, request, "slow request", "s", &age)) {
        if (log->aged++ == 0 || age < log->youngest)
            log->youngest = age;
        if (age > log->oldest)
            log->oldest = age;
    }
    take_name(log, request, age);
    if (!state) {
        import_count(log->import, "requests_without_state", 1);
        return;
    }
    state += strlen("currently ");
    const char *subops = strstr(state, "waiting for subops from");
    snprintf(log->state, sizeof(log->state), "%.60s", state);
    if (subops) {
        take_peers(log, subops + strlen("waiting for subops from"));
    } else if (optracker_aside(state, &stuck) && stuck) {
        log->stuck++;
        snprintf(log->stuck_on, sizeof(log->stuck_on), "%.60s", state);
    }
}

/* States of the cluster in which ops wait for something else than a device. */
static void say_health(struct log *log, const char *text)
{
    static const struct {
        const char *word, *means;
    } signs[] = {
        {"scrubbing+deep", "deep scrub runs, which competes with clients for the disks"},
        {"peering", "placement groups are peering: ops to them are stuck until that ends"},
        {"unfound", "objects are unfound: ops on them are stuck until these are found or given up"},
        {"incomplete", "placement groups are incomplete: ops to them are stuck"},
        {"down+", "placement groups are down: ops to them are stuck"},
        {"backfill", "backfill runs, which competes with clients"},
        {"recovering", "recovery runs, which competes with clients"},
        {"wrongly marked me down", "an OSD was marked down while it ran: look at its network"},
        {"full osd", "an OSD is full: writes are stuck until there is room"},
    };

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (strstr(text, signs[i].word))
            import_say(log->import, "health", "%s: %s.", log->evidence->name, signs[i].means);
}

/* pgmap lines end with "711 op/s". */
static void take_rates(struct log *log, const char *text)
{
    const char *at = text;

    while ((at = strstr(at, " op/s"))) {
        const char *number = at;
        while (number > text && number[-1] >= '0' && number[-1] <= '9')
            number--;
        double rate = strtod(number, NULL);
        at++;
        if (!import_possible(log->import, rate, "op/s"))
            continue;
        if (log->rates++ == 0)
            log->first_rate = log->top_rate = log->least_rate = rate;
        if (rate > log->top_rate)
            log->top_rate = rate;
        if (rate < log->least_rate)
            log->least_rate = rate;
    }
}

static void say_peers(struct log *log)
{
    size_t most = 0;

    for (size_t i = 1; i < log->peer_count; i++)
        if (log->peers[i].alone > log->peers[most].alone)
            most = i;
    if (log->peer_count == 0)
        return;
    if (log->peers[most].alone == log->subops)
        import_say(log->import, "peer",
                   "%s: %s that waits for copies waits for osd.%ld alone: look whether osd.%ld "
                   "lives and answers. This is not the latency of the disk of who complains.",
                   log->evidence->name, log->subops == 1 ? "the one request" : "every slow request",
                   log->peers[most].peer, log->peers[most].peer);
    else
        import_say(
            log->import, "peer",
            "%s: of %zu slow request%s that wait%s for copies %zu wait%s for osd.%ld, %zu of them "
            "for it alone.",
            log->evidence->name, log->subops, plural(log->subops), log->subops == 1 ? "s" : "",
            log->peers[most].requests, log->peers[most].requests == 1 ? "s" : "",
            log->peers[most].peer, log->peers[most].alone);
}

static void say(struct log *log)
{
    const char *name = log->evidence->name;
    size_t ageing = 0;

    for (size_t i = 0; i < log->op_count; i++)
        ageing += log->ops[i].told > 1;
    import_figure(log->import, name, "slow_requests", (double)log->requests, "");
    import_figure(log->import, name, "slow_requests.distinct", (double)log->op_count, "");
    if (log->aged) {
        import_figure(log->import, name, "age.min", log->youngest, "s");
        import_figure(log->import, name, "age.max", log->oldest, "s");
    }
    if (ageing)
        import_say(log->import, "stuck",
                   "%s: %zu op%s told of more than once and ages from %.0f to %.0f s: it does not "
                   "get on at all, which a slow disk does not explain.",
                   name, ageing, ageing == 1 ? " is" : "s are", log->youngest, log->oldest);
    say_peers(log);
    if (log->stuck)
        import_say(log->import, "stuck",
                   "%s: %zu slow request%s stuck, not slow: %s. That ends when the cluster's state "
                   "changes.",
                   name, log->stuck, log->stuck == 1 ? " is" : "s are", log->stuck_on);
}

static void take_requests(struct log *log, char *text)
{
    static const char words[] = "slow request ";
    char *at = strstr(text, words);

    while (at) {
        char *next = strstr(at + sizeof(words) - 1, words);
        char kept = '\0';
        if (next) {
            kept = *next;
            *next = '\0';
        }
        take_request(log, at);
        if (next)
            *next = kept;
        at = next;
    }
}

size_t read_slow_requests(struct import *import, const struct evidence *evidence)
{
    struct log *log = calloc(1, sizeof(*log));
    char *text = flat(evidence->text);
    size_t found = 0;

    if (!log || !text) {
        import_count(import, "texts_without_room", 1);
    } else {
        log->import = import;
        log->evidence = evidence;
        take_requests(log, text);
        if (strstr(text, "pgmap ") || strstr(text, "HEALTH_"))
            take_rates(log, text);
        found = log->requests + log->rates;
        if (log->requests)
            say(log);
        if (found)
            say_health(log, text);
        if (log->rates) {
            import_figure(import, evidence->name, "rate.max", log->top_rate, "op/s");
            import_figure(import, evidence->name, "rate.min", log->least_rate, "op/s");
            if (log->least_rate < 0.7 * log->first_rate)
                import_say(import, "decay",
                           "%s: the cluster's rate falls from %.0f to %.0f op/s meanwhile.",
                           evidence->name, log->first_rate, log->least_rate);
        }
    }
    free(text);
    free(log);
    return found;
}
