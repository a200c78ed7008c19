/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "optracker_stages.h"
#include "time_stamp.h"
#include "told_ops.h"
#include "tolerant_json.h"
#include "units.h"

/*
 * OpTracker's dumps: historic, slow, in flight, of all versions. They differ in where events stand
 * (beside the op's fields, in an array type_data, in an object type_data), in the name of the
 * begin, and in whether times are text; an op is whatever has a description and a begin.
 */
#define MOST_EVENTS 1024 /* of one op; it may be put aside again and again */
/* An event is a stamp of microseconds: less than this is no contradiction, ns. */
#define SLACK 1000000

struct event {
    const char *text;
    int64_t ns;
};

struct dump {
    struct import *import;
    const struct evidence *evidence;
    struct event events[MOST_EVENTS];
    size_t count;
    size_t ops, named, open;
    size_t unknown, again; /* nothing tells how long the op took; it was told before */
    uint64_t total_ns;
    size_t stage_count;
    struct {
        const char *name;
        uint64_t ns;
    } stages[IMPORT_STAGES];
    /* the longest way from one event to the next */
    uint64_t longest_ns, longest_op_ns, longest_journal_ns;
    char longest_from[96], longest_to[96], longest_peers[64];
    const char *longest_stage;
    uint64_t missing_ns; /* of the op that misses most */
    uint64_t missing_of_ns, missing_seen_ns;
    /* ops under way: the oldest that waits for something */
    size_t stuck;
    double oldest_s;
    char oldest_event[128];
};

static bool is_event(const struct tolerant_node *node)
{
    return node->type == TOLERANT_LIST && *tolerant_text(node, "event") &&
           *tolerant_text(node, "time");
}

static const struct tolerant_node *events_in(const struct tolerant_node *list)
{
    for (const struct tolerant_node *node = list ? list->first : NULL; node; node = node->next) {
        if (is_event(node))
            return list;
    }
    return NULL;
}

/* Beside the op's fields, in type_data, or in a list in it. */
static const struct tolerant_node *events_of(const struct tolerant_node *op)
{
    const struct tolerant_node *data = tolerant_child(op, "type_data");
    const struct tolerant_node *found = events_in(tolerant_child(op, "events"));

    if (!found)
        found = events_in(data);
    for (const struct tolerant_node *node = data ? data->first : NULL; node && !found;
         node = node->next)
        found = events_in(node);
    return found;
}

static const char *begin_of(const struct tolerant_node *op)
{
    const char *text = tolerant_text(op, "initiated_at");

    return *text ? text : tolerant_text(op, "received_at");
}

static bool is_op(const struct tolerant_node *node)
{
    return node->type == TOLERANT_LIST && *tolerant_text(node, "description") && *begin_of(node);
}

static void take_event(struct dump *dump, const struct tolerant_node *node)
{
    struct event event = {.text = tolerant_text(node, "event")};
    double duration;

    /* Of two events at nearly one time the tracker may see the second one first: its time since
     * the one before is then below 0, and wraps around. The times tell it right. */
    if (tolerant_number(node, "duration", &duration) && (duration > 4e9 || duration < 0))
        import_count(dump->import, "wrapped_event_durations", 1);
    if (!time_stamp_read(tolerant_text(node, "time"), &event.ns)) {
        import_count(dump->import, "events_without_time", 1);
        return;
    }
    if (dump->count == MOST_EVENTS) {
        import_count(dump->import, "events_without_room", 1);
        return;
    }
    size_t at = dump->count;
    while (at > 0 && dump->events[at - 1].ns > event.ns)
        at--;
    if (at > 0 && dump->events[at - 1].ns == event.ns &&
        strcmp(dump->events[at - 1].text, event.text) == 0) {
        import_count(dump->import, "repeated_events", 1);
        return;
    }
    import_count(dump->import, "events_out_of_order", at < dump->count);
    memmove(&dump->events[at + 1], &dump->events[at], (dump->count - at) * sizeof(event));
    dump->events[at] = event;
    dump->count++;
}

static void take_events(struct dump *dump, const struct tolerant_node *list)
{
    dump->count = 0;
    for (const struct tolerant_node *node = list ? list->first : NULL; node; node = node->next)
        if (is_event(node))
            take_event(dump, node);
}

static void add_stage(struct dump *dump, const char *name, uint64_t ns)
{
    size_t i = 0;

    while (i < dump->stage_count && strcmp(dump->stages[i].name, name) != 0)
        i++;
    if (i == IMPORT_STAGES)
        return;
    dump->stages[i].name = name;
    dump->stages[i].ns += ns;
    dump->stage_count += i == dump->stage_count;
}

static const struct optracker_stage *stage_between(const char *from, const char *to)
{
    static const struct optracker_stage callback = {"", "commit.callback", "wait"};
    bool stuck;
    const struct optracker_stage *stage = optracker_aside(from, &stuck);

    if (stage)
        return stage;
    stage = optracker_before(to);
    return strcmp(stage->stage, "store.commit") == 0 &&
                   strcmp(from, "journaled_completion_queued") == 0
               ? &callback
               : stage;
}

/* Splits the op from `begin` on: each stretch belongs to a stage, so that they add up. Returns the
 * time of the last event. */
static int64_t split(struct dump *dump, struct import_op *op, int64_t begin)
{
    const char *from = "initiated", *peers = "";
    int64_t at = begin;
    uint64_t journal = 0;
    bool longest = false;

    for (size_t i = 0; i < dump->count; i++) {
        const struct event *event = &dump->events[i];
        if (strncmp(event->text, "waiting for subops from", 23) == 0)
            peers = event->text + 23;
        if (event->ns > at) {
            const struct optracker_stage *stage = stage_between(from, event->text);
            uint64_t ns = (uint64_t)(event->ns - at);
            *import_stage(op, stage->stage, stage->kind) += ns;
            add_stage(dump, stage->stage, ns);
            if (strncmp(stage->stage, "journal.", 8) == 0)
                journal += ns;
            if (ns > dump->longest_ns) {
                dump->longest_ns = ns;
                dump->longest_stage = stage->stage;
                snprintf(dump->longest_from, sizeof(dump->longest_from), "%s", from);
                snprintf(dump->longest_to, sizeof(dump->longest_to), "%s", event->text);
                snprintf(dump->longest_peers, sizeof(dump->longest_peers), "%s", peers);
                longest = true;
            }
            at = event->ns;
        }
        from = event->text;
    }
    if (longest)
        dump->longest_journal_ns = journal;
    return at;
}

/* An op that is still under way tells what it waits for. */
static void take_open(struct dump *dump, double age)
{
    bool stuck = false;
    const char *last = dump->count ? dump->events[dump->count - 1].text : "nothing that is told";

    dump->open++;
    import_incomplete(dump->import, "open", 1);
    if (optracker_aside(last, &stuck) && stuck)
        dump->stuck++;
    if (age >= dump->oldest_s) {
        dump->oldest_s = age;
        snprintf(dump->oldest_event, sizeof(dump->oldest_event), "%s", last);
    }
}

static bool read_seconds(const struct tolerant_node *node, const char *key, double *seconds)
{
    return node && tolerant_number(node, key, seconds) && *seconds >= 0 && *seconds < 1e8;
}

/* A duration that can be: one of 0 is of an op that the tracker had not finished with. */
static bool read_duration(struct dump *dump, const struct tolerant_node *node, double *seconds)
{
    double any;

    if (read_seconds(node, "duration", seconds) && *seconds <= import_largest("s"))
        return *seconds > 0;
    if (node && tolerant_number(node, "duration", &any))
        import_count(dump->import, "wrapped_durations", 1);
    *seconds = 0;
    return false;
}

static void leave_out(struct dump *dump, const char *reason)
{
    import_count(dump->import, reason, 1);
    dump->unknown++;
}

/* `node` is NULL when the op's head is missing. */
static void take_op(struct dump *dump, const struct tolerant_node *node,
                    const struct tolerant_node *events, bool in_flight)
{
    struct import_op op = {0};
    double duration = 0, age = 0;
    int64_t begin = 0, end;
    bool known = read_duration(dump, node, &duration);

    take_events(dump, events);
    if (!read_seconds(node, "age", &age))
        age = 0;
    dump->ops++;
    dump->named += node != NULL;
    optracker_describe(node ? tolerant_text(node, "description") : "", &op);
    if (in_flight) {
        take_open(dump, age > 0 ? age : duration);
        return;
    }
    if (!node || !time_stamp_read(begin_of(node), &begin)) {
        if (dump->count == 0) {
            leave_out(dump, "ops_without_times");
            return;
        }
        begin = dump->events[0].ns;
    }
    if (dump->count == 0 && !known) {
        leave_out(dump, "ops_without_times");
        return;
    }
    /* one event tells when, not how long */
    if (!known && dump->events[dump->count - 1].ns <= begin) {
        leave_out(dump, "ops_of_unknown_latency");
        return;
    }
    if (dump->count &&
        (double)(dump->events[dump->count - 1].ns - begin) > import_largest("s") * 1e9) {
        leave_out(dump, "figures_impossible");
        return;
    }
    uint64_t told = (uint64_t)(duration * 1e9 + 0.5);
    if (node && op.tid &&
        import_told_again(dump->import, told_ops_key(tolerant_text(node, "description"),
                                                     begin_of(node), told + dump->count))) {
        dump->again++;
        return;
    }
    end = split(dump, &op, begin);
    op.start_ns = begin;
    op.latency_ns = (uint64_t)(end - begin);
    if (known && op.latency_ns > told + SLACK)
        import_note(dump->import,
                    "%s: an op's events reach %.6g s, its duration says %.6g s: the events count",
                    dump->evidence->name, (double)op.latency_ns / 1e9, duration);
    if (known && told > op.latency_ns) {
        uint64_t missing = told - op.latency_ns;
        if (missing > SLACK && missing > told / 100 && missing > dump->missing_ns) {
            dump->missing_ns = missing;
            dump->missing_of_ns = told;
            dump->missing_seen_ns = op.latency_ns;
        }
        op.latency_ns = told;
    }
    dump->total_ns += op.latency_ns;
    if (op.latency_ns > 0 && dump->longest_op_ns < op.latency_ns)
        dump->longest_op_ns = op.latency_ns;
    import_add_op(dump->import, &op);
}

/* What the longest stretch can mean, and what it cannot tell. */
static void explain(const struct dump *dump, char *text, size_t size)
{
    const char *stage = dump->longest_stage;

    *text = '\0';
    if (strcmp(stage, "filestore.apply") == 0)
        snprintf(text, size,
                 " That is FileStore's apply: the data disk, the apply queue or WBThrottle; the "
                 "journal took %.3g ms.",
                 (double)dump->longest_journal_ns / 1e6);
    else if (strcmp(stage, "replica.wait") == 0 && strstr(dump->longest_to, " from "))
        snprintf(text, size, " That is a replica's commit; the event names the peer.");
    else if (strcmp(stage, "replica.wait") == 0)
        snprintf(text, size,
                 " That is one replica's commit; which of the peers%s it was is not recorded.",
                 *dump->longest_peers ? dump->longest_peers : ", which are not named either,");
    else if (strcmp(stage, "store.commit") == 0)
        snprintf(text, size,
                 " The tracker sees nothing in between: it cannot tell the device from "
                 "the store's queues.");
    else if (strcmp(stage, "opqueue.wait") == 0)
        snprintf(text, size, " The op waited for a worker thread and its placement group.");
}

static void say(struct dump *dump)
{
    struct import *import = dump->import;
    const char *name = dump->evidence->name;
    char text[400];
    size_t most = 0, told = dump->ops - dump->open - dump->unknown - dump->again;

    for (size_t i = 1; i < dump->stage_count; i++)
        if (dump->stages[i].ns > dump->stages[most].ns)
            most = i;
    if (dump->missing_ns)
        import_say(import, "missing",
                   "%s: an op took %.5g s in all, but the events that survived reach only %s "
                   "after its begin: where the rest went is not in this text.",
                   name, (double)dump->missing_of_ns / 1e9,
                   unit_duration(dump->missing_seen_ns, text, sizeof(text)));
    /* where most is missing, what is there explains nothing */
    if (dump->longest_ns && dump->total_ns && 2 * dump->missing_ns < dump->total_ns) {
        explain(dump, text, sizeof(text));
        import_say(
            import, "stage",
            "%s: %.1f %% of the time of %zu op%s is %s. The longest stretch: %.4g %s between "
            "%s and %s.%s",
            name, 100 * (double)dump->stages[most].ns / (double)dump->total_ns, told,
            told == 1 ? "" : "s", dump->stages[most].name,
            (double)dump->longest_ns / (dump->longest_ns < 1000000000 ? 1e6 : 1e9),
            dump->longest_ns < 1000000000 ? "ms" : "s", dump->longest_from, dump->longest_to, text);
    }
    if (dump->open)
        import_say(import, dump->stuck ? "stuck" : "open",
                   "%s: %zu op%s under way, the oldest for %.5g s, its last event: %s. %s", name,
                   dump->open, dump->open == 1 ? " is" : "s are", dump->oldest_s,
                   dump->oldest_event,
                   dump->stuck ? "That is stuck, not slow: it ends when the cluster's state "
                                 "changes, not when a disk gets faster."
                               : "How long each will take cannot be told.");
    if (dump->named < dump->ops)
        import_note(import, "%s: %zu op%s without a head: neither name nor begin is known", name,
                    dump->ops - dump->named, dump->ops - dump->named == 1 ? "" : "s");
}

/* What a list is, once for each: to ask a list of all ops again for each op of it is quadratic. A
 * dump of ops in flight counts them, at the top: {"num_ops", "ops"} in either order. */
enum { IS_OP = 1, COUNTS_OPS = 2 };

static void mark(struct tolerant_node *root)
{
    for (struct tolerant_node *node = root; node; node = node->all) {
        node->mark = is_op(node) ? IS_OP : 0;
        if (node->parent && strcmp(node->key, "num_ops") == 0)
            node->parent->mark |= COUNTS_OPS;
    }
}

/* Whether the list, or one that it is in, has the mark. */
static bool is_within(const struct tolerant_node *list, unsigned char mark)
{
    while (list && !(list->mark & mark))
        list = list->parent;
    return list != NULL;
}

/* Whether the text ends within a list: the root's last child goes on up to there. */
static bool is_cut(struct tolerant *json)
{
    const struct tolerant_node *last = tolerant_root(json)->last;

    return last && last->type == TOLERANT_LIST && !last->closed;
}

/* A dump that is whole, and has no op: {"num to keep": 20, "Ops": []}. */
static bool is_empty_dump(const struct tolerant_node *root)
{
    for (const struct tolerant_node *node = root; node; node = node->all)
        if (node->type == TOLERANT_LIST && node->closed && !node->first && node->parent &&
            (strcmp(node->key, "ops") == 0 || strcmp(node->key, "Ops") == 0) &&
            (tolerant_child(node->parent, "num to keep") ||
             tolerant_child(node->parent, "num_ops") || tolerant_child(node->parent, "size")))
            return true;
    return false;
}

size_t read_optracker(struct import *import, const struct evidence *evidence)
{
    struct dump *dump = calloc(1, sizeof(*dump));
    size_t ops;

    if (!dump) {
        import_count(import, "texts_without_room", 1);
        return 0;
    }
    dump->import = import;
    dump->evidence = evidence;
    mark(tolerant_root(evidence->json));
    for (const struct tolerant_node *node = tolerant_root(evidence->json); node; node = node->all) {
        if (node->mark & IS_OP)
            take_op(dump, node, events_of(node), is_within(node->parent, COUNTS_OPS));
        else if (node->type == TOLERANT_LIST && node->first && is_event(node->first) &&
                 !is_within(node, IS_OP))
            take_op(dump, NULL, node, false);
    }
    ops = dump->ops;
    if (ops)
        say(dump);
    else if (is_empty_dump(tolerant_root(evidence->json))) {
        import_say(import, "none", "%s: no ops in it.", evidence->name);
        ops = 1; /* it is known all the same */
    }
    if (ops && is_cut(evidence->json))
        import_note(import,
                    "%s: it ends in the middle of a dump: how many ops came behind is not known, "
                    "and the last one may lack events",
                    evidence->name);
    free(dump);
    return ops;
}
