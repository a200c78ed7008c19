/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "plural.h"
#include "escape.h"
#include "renderers.h"
#include "text_out.h"
#include "units.h"

#define DEFAULT_WIDTH  100
#define SMALLEST_WIDTH 60
/* A blank at which no line is broken; escaped text has no such character. */
#define GLUE '\1'
/* Of an option and its value so much is printed, bytes: a value may be a long list without blanks.
 */
#define LONGEST_KNOB 56
/* Clients that are listed one by one. */
#define SHOWN_CLIENTS 10

size_t text_columns(const char *text)
{
    size_t columns = 0;

    for (; *text; text++)
        columns += (*text & 0xc0) != 0x80;
    return columns;
}

void text_cell(FILE *out, const char *text, size_t columns, size_t width, int right)
{
    size_t blanks = width > columns ? width - columns : 0;

    if (right)
        fprintf(out, "%*s%s", (int)blanks, "", text);
    else
        fprintf(out, "%s%*s", text, (int)blanks, "");
}

void text_name(FILE *out, const char *name, size_t width)
{
    char escaped[TEXT_NAME];
    size_t columns = 0;

    escape_for_terminal(name, escaped, sizeof(escaped) - 4);
    for (char *at = escaped; *at; at++) {
        if ((*at & 0xc0) == 0x80)
            continue;
        if (columns++ == width - 1 && text_columns(at) > 1) {
            memcpy(at, "…", sizeof("…"));
            break;
        }
    }
    text_cell(out, escaped, text_columns(escaped), width, 0);
}

void text_duration(FILE *out, uint64_t ns, size_t width)
{
    char number[24];

    unit_duration(ns, number, sizeof(number));
    text_cell(out, number, text_columns(number), width, 1);
}

void text_paragraph(FILE *out, int indent, int width, const char *text)
{
    size_t size = 4 * strlen(text) + 8, room = (size_t)(width - indent), used = 0;
    char *escaped = malloc(size), *rest = NULL;

    if (!escaped)
        return;
    escape_for_terminal(text, escaped, size);
    /* "1 %" stays together */
    for (char *percent = escaped; (percent = strstr(percent, " %")); percent += 2)
        *percent = GLUE;
    for (char *word = strtok_r(escaped, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t columns = text_columns(word);
        if (used > 0 && used + 1 + columns > room) {
            fputc('\n', out);
            used = 0;
        }
        for (char *glue = word; (glue = strchr(glue, GLUE)); glue++)
            *glue = ' ';
        fprintf(out, "%*s%s", used ? 1 : indent, "", word);
        used += columns + (used > 0);
    }
    if (used > 0)
        fputc('\n', out);
    free(escaped);
}

void text_source_name(const struct report *report, char *name, size_t size)
{
    const char *parts[] = {report->source.daemon, report->source.version, report->source.store};
    const char *const before[] = {"", " ", ", "};
    char pid[32] = "";
    size_t used = 0;

    name[0] = '\0';
    if (*report->source.id)
        used += (size_t)snprintf(name, size, "%s.%s  ",
                                 strncmp(report->source.daemon, "ceph-", 5) == 0
                                     ? report->source.daemon + 5
                                     : report->source.daemon,
                                 report->source.id);
    for (size_t i = 0; i < 3 && used < size; i++)
        if (*parts[i])
            used +=
                (size_t)snprintf(name + used, size - used, "%s%s", i ? before[i] : "", parts[i]);
    if (report->source_count && used < size)
        snprintf(pid, sizeof(pid), "%s%zu daemons", used ? ", " : "", report->source_count);
    else if (report->source.pid)
        snprintf(pid, sizeof(pid), "%spid %d", used ? ", " : "", report->source.pid);
    if (used < size)
        used += (size_t)snprintf(name + used, size - used, "%s", pid);
    if (used == 0)
        snprintf(name, size, "%s trace", *report->source.kind ? report->source.kind : "a");
}

static uint64_t count_of(const struct report_count *counts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(counts[i].name, name) == 0)
            return counts[i].value;
    return 0;
}

/* "10.0 s: 40,212 writes, 12 reads, 0 events lost, 3 ops still open". */
static void source_figures(const struct report *report, char *text, size_t size)
{
    char number[24];
    uint64_t open = count_of(report->counts.incomplete, report->counts.incomplete_count, "open");
    size_t used = (size_t)snprintf(
        text, size, "%s: ",
        unit_duration((uint64_t)(report->source.seconds * 1e9 + 0.5), number, sizeof(number)));

    for (size_t i = 0; i < report->op_count && i < 4 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s %s%s, ",
                                 unit_count(report->ops[i].count, number, sizeof(number)),
                                 report->ops[i].type, report->ops[i].count == 1 ? "" : "s");
    if (report->op_count == 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, "no ops, ");
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, "%s event%s lost",
                                 unit_count(report->counts.lost_events, number, sizeof(number)),
                                 plural(report->counts.lost_events));
    if (open > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", %s op%s still open",
                                 unit_count(open, number, sizeof(number)), open == 1 ? "" : "s");
    if (report->source.locks_seconds > 0 && used < size)
        snprintf(text + used, size - used, ", waits for locks observed %.0f %% of the time",
                 100 * report->source.locks_seconds / report->source.seconds);
}

void text_source(const struct report *report, int width, FILE *out)
{
    char name[TEXT_NAME], figures[512], line[1024];

    text_source_name(report, name, sizeof(name));
    source_figures(report, figures, sizeof(figures));
    if (text_columns(name) + 3 + text_columns(figures) > (size_t)width) {
        text_paragraph(out, 0, width, name);
        text_paragraph(out, 0, width, figures);
        return;
    }
    snprintf(line, sizeof(line), "%s   %s", name, figures);
    char escaped[4 * sizeof(line)];
    escape_for_terminal(line, escaped, sizeof(escaped));
    fprintf(out, "%s\n", escaped);
}

/* One line a daemon, when there are several. */
static void sources(const struct report *report, FILE *out)
{
    double seconds = report->source.traced_seconds;

    for (size_t i = 0; i < report->source_count; i++) {
        const struct report_source *row = &report->sources[i];
        char name[80], text[256], ops[24], rate[24], p50[24], p99[24], lost[24];
        if (*row->id)
            snprintf(name, sizeof(name), "%s.%s",
                     strncmp(row->daemon, "ceph-", 5) == 0 ? row->daemon + 5 : row->daemon,
                     row->id);
        else
            snprintf(name, sizeof(name), "%s", row->daemon);
        escape_for_terminal(name, text, sizeof(text));
        fprintf(out, "%s  %-16s pid %-8d %10s op%-1s %10s/s", i ? "" : "\n", text, row->pid,
                unit_count(row->ops, ops, sizeof(ops)), plural(row->ops),
                unit_rate(seconds > 0 ? (double)row->ops / seconds : 0, rate, sizeof(rate)));
        escape_for_terminal(row->type, text, sizeof(text));
        if (*text)
            fprintf(out, "   %.24s p50 %s  p99 %s", text,
                    unit_duration(row->latency.p50, p50, sizeof(p50)),
                    unit_duration(row->latency.p99, p99, sizeof(p99)));
        if (row->lost_events)
            fprintf(out, "   %s lost", unit_count(row->lost_events, lost, sizeof(lost)));
        fputc('\n', out);
    }
}

void text_verdicts(const struct report *report, int width, FILE *out)
{
    for (size_t i = 0; i < report->verdict_count; i++) {
        const struct report_verdict *verdict = &report->verdicts[i];
        char text[2048];
        size_t used = (size_t)snprintf(text, sizeof(text), "%s", verdict->text);
        for (char **knob = verdict->knobs; *knob && used < sizeof(text); knob++) {
            size_t shown = strlen(*knob) > LONGEST_KNOB ? LONGEST_KNOB : strlen(*knob);
            while (shown > 0 && ((*knob)[shown] & 0xc0) == 0x80)
                shown--;
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s%s%s",
                                     knob == verdict->knobs ? " Knobs: " : ", ", (int)shown, *knob,
                                     (*knob)[shown] ? "…" : "", knob[1] ? "" : ".");
        }
        fputc('\n', out);
        text_paragraph(out, 2, width, text);
    }
}

static void clients(const struct report *report, FILE *out)
{
    if (report->client_count < 2)
        return;
    fprintf(out, "\nclients %12s %14s %12s\n", "", "ops", "bytes");
    for (size_t i = 0; i < report->client_count && i < SHOWN_CLIENTS; i++) {
        const struct report_client *client = &report->clients[i];
        char ops[24], bytes[24], name[32] = "not known";
        if (client->client)
            snprintf(name, sizeof(name), "%" PRIu64, client->client);
        fprintf(out, "  %-18s %14s %12s\n", name, unit_count(client->ops, ops, sizeof(ops)),
                unit_size(client->bytes, bytes, sizeof(bytes)));
    }
    if (report->client_count > SHOWN_CLIENTS)
        fprintf(out, "  and %zu more\n", report->client_count - SHOWN_CLIENTS);
}

/* Who asked whom for copies, and whose answer the ops waited for. */
static void peers(const struct report *report, FILE *out)
{
    bool several = false;

    if (report->peer_count == 0)
        return;
    for (size_t i = 1; i < report->peer_count; i++)
        several |= report->peers[i].pid != report->peers[0].pid;
    fprintf(out, "\npeers %14s %10s %10s %10s\n", "answers", "p50", "p99", "waited for");
    for (size_t i = 0; i < report->peer_count; i++) {
        const struct report_peer *peer = &report->peers[i];
        char name[48], answers[24], p50[24], p99[24];
        if (several)
            snprintf(name, sizeof(name), "%" PRIu64 " of %d", peer->peer, peer->pid);
        else
            snprintf(name, sizeof(name), "%" PRIu64, peer->peer);
        fprintf(out, "  %-8s %9s %10s %10s %8.1f %%", name,
                unit_count(peer->latency.count, answers, sizeof(answers)),
                unit_duration(peer->latency.p50, p50, sizeof(p50)),
                unit_duration(peer->latency.p99, p99, sizeof(p99)), 100 * peer->last_share);
        if (peer->asked > peer->latency.count)
            fprintf(out, "   %s not answered",
                    unit_count(peer->asked - peer->latency.count, answers, sizeof(answers)));
        fputc('\n', out);
    }
}

/* What the counters mean; those that are not here are named as they are. */
static const struct {
    const char *name, *text; /* text: behind a count; NULL: not shown */
} meanings[] = {
    {"timeout", "open for too long"},
    {"key_reused", "whose key another op got before they finished"},
    {"key_ended", "ended without a reply seen"},
    {"lost_events", "during which events were lost"},
    {"evicted", "too many at once"},
    {"open", "still open at the end"},
    {"lost_packets", "packets lost by the tracer"},
    {"late_events", "older than one before them"},
    {"unknown_events", "of points that are not in the catalogue"},
    {"malformed_events", "without the fields they must have"},
    {"foreign_events", "of other providers"},
    {"moved_events", "moved in time to keep the order"},
    {"unknown_texts", "with a text that the probe map does not know"},
    {"unreadable_arguments", "whose arguments could not be read"},
    {"unset_stamps", "without the stamp that they should carry"},
    {"refused_stamps", "with a stamp from the future or the far past"},
    {"cut", "cut by a pause of the tracing"},
    {"truncated_ops", "of ops with more marks than are kept"},
    {"peers_without_room", "asked beyond those whose answers are timed"},
    {"starts_without_room", "of ops that found no room in the kernel"},
    {"keys_without_room", "with keys that found no room in the kernel"},
    {"threads_without_room", "of threads that found no room in the kernel"},
    {"exemplars_without_room", "of slow ops that found no room on their way up"},
    {"lock_events_unpaired", "of locks given back that were not seen to be got"},
    {"locks_without_room", "of locks that found no room"},
    {"lock_threads_without_room", "of threads that found no room among those at locks"},
    {"lock_waits_without_stack", "waits for locks without a call stack"},
    {"lock_waits_lost", "waits for locks that found no room on their way up"},
    {"lock_threads_not_seen", "of threads that found no room among those that wait for locks"},
    {"lock_owners_unknown", "waits for locks of which it is not known who had them"},
    {"lock_owners_gone", "waits for locks whose owner had ended"},
    {"lock_stacks_put_off", "times a new call stack was not copied, for others came first"},
    {"lock_words_unreadable", "locks whose memory could not be read"},
    {"lock_stacks_unreadable", "call stacks that could not be read"},
    {"lock_addresses_reused", "locks that others took the place of"},
    {"lock_waits_cut", NULL}, /* a note says more */
    {"stacks_without_room", "call stacks that found no room"},
    {"nested_locks_not_followed", "of locks taken with too many others held"},
    {"thread_steps_without_room", "of threads that do too many different things"},
    {"probe_hits", NULL}, /* a cost */
    {"ceph_events", NULL},
    {"ceph_events_not_needed", NULL},
    {"ceph_events_unmapped", "of Ceph's own tracepoints that no op is made of"},
    {"ceph_events_without_request", NULL}, /* notes say more */
    {"ceph_events_without_thread", NULL},
    {"ceph_requests_forgotten", "of requests that found no room"},
    {"at_pauses", NULL}, /* no loss; a note says more */
    {"begun_before", NULL},
    {"unmatched_before_start", NULL}, /* parts of unmatched_events */
    {"unmatched_after_finish", NULL},
    {"damaged_streams", NULL}, /* a note says more */
    {"clock_jumps", NULL},     /* a note says more */
    {"events_out_of_order", "told out of order"},
    {"wrapped_durations", "whose duration wrapped around: ignored"},
    {"wrapped_event_durations", NULL}, /* the events' times are what counts */
    {"repeated_events", "told twice"},
    {"ops_told_again", "ops that were told again: counted once"},
    {"events_without_time", "without a time"},
    {"rows_unusable", "rows that could not be used"},
    {"figures_impossible", "figures that cannot be: left out"},
    {"ops_without_times", "ops that tell no times"},
    {"ops_of_unknown_latency", "ops of unknown latency: one event, and no duration that can be"},
    {"quoted_lines", NULL}, /* mended */
};

/* Behind 1, where that is other words. */
static const struct {
    const char *name, *text;
} meanings_of_one[] = {
    {"lost_packets", "packet lost by the tracer"},
    {"lock_waits_without_stack", "wait for a lock without a call stack"},
    {"stacks_without_room", "call stack that found no room"},
    {"rows_unusable", "row that could not be used"},
    {"figures_impossible", "figure that cannot be: left out"},
    {"ops_without_times", "op that tells no times"},
    {"ops_told_again", "op that was told again: counted once"},
    {"ops_of_unknown_latency", "op of unknown latency: one event, and no duration that can be"},
};

const char *text_meaning(const struct report_count *count)
{
    for (size_t i = 0; i < sizeof(meanings_of_one) / sizeof(meanings_of_one[0]); i++)
        if (count->value == 1 && strcmp(meanings_of_one[i].name, count->name) == 0)
            return meanings_of_one[i].text;
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (strcmp(meanings[i].name, count->name) == 0)
            return meanings[i].text;
    return count->name;
}

/* Adds "12 open for too long" to the list when it is not 0. */
static void list_count(char *list, size_t size, const struct report_count *count)
{
    char number[24];
    const char *text = text_meaning(count);
    size_t used = strlen(list);

    if (count->value > 0 && text)
        snprintf(list + used, size - used, "%s%s %s", used ? ", " : "",
                 unit_count(count->value, number, sizeof(number)), text);
}

static void list_counts(char *list, size_t size, const struct report_count *counts, size_t count)
{
    list[0] = '\0';
    for (size_t i = 0; i < count; i++)
        list_count(list, size, &counts[i]);
}

/* Events that belong to no op, and why as far as it is known. */
static void list_unmatched(char *list, size_t size, const struct report *report)
{
    char number[24], before_text[24], after_text[24], rest_text[24];
    const struct report_count *others = report->counts.others;
    size_t count = report->counts.other_count, used = strlen(list);

    if (report->counts.unmatched_events == 0)
        return;
    uint64_t all = report->counts.unmatched_events;
    uint64_t before = count_of(others, count, "unmatched_before_start");
    uint64_t after = count_of(others, count, "unmatched_after_finish");
    used += (size_t)snprintf(list + used, size - used,
                             "%s%s of no op (%s before its start, %s after its end",
                             used ? ", " : "", unit_count(all, number, sizeof(number)),
                             unit_count(before, before_text, sizeof(before_text)),
                             unit_count(after, after_text, sizeof(after_text)));
    if (used < size && all > before + after)
        used += (size_t)snprintf(list + used, size - used, ", %s by threads without one",
                                 unit_count(all - before - after, rest_text, sizeof(rest_text)));
    if (used < size)
        snprintf(list + used, size - used, ")");
}

/* What could not be used, and the notes: the report ends with them. */
void text_losses(const struct report *report, int width, FILE *out)
{
    char list[1024], line[1200], number[24];
    struct report_count lost = {(char *)"lost by the tracer", report->counts.lost_events};

    snprintf(line, sizeof(line), "%s event%s, %s op%s finished.",
             unit_count(report->counts.events, list, sizeof(list)), plural(report->counts.events),
             unit_count(report->counts.ops, number, sizeof(number)),
             report->counts.ops == 1 ? "" : "s");
    fputc('\n', out);
    if (!report_is_imported(report))
        text_paragraph(out, 0, width, line);

    list_counts(list, sizeof(list), report->counts.incomplete, report->counts.incomplete_count);
    if (list[0]) {
        snprintf(line, sizeof(line), "Ops that are not in the tables: %s.", list);
        text_paragraph(out, 0, width, line);
    }
    bool nothing = list[0] == '\0';
    list[0] = '\0';
    list_count(list, sizeof(list), &lost);
    list_unmatched(list, sizeof(list), report);
    for (size_t i = 0; i < report->counts.other_count; i++)
        list_count(list, sizeof(list), &report->counts.others[i]);
    if (list[0]) {
        snprintf(line, sizeof(line), "Events: %s.", list);
        text_paragraph(out, 0, width, line);
    }
    if (nothing && !list[0])
        fputs("Nothing was lost.\n", out);
    for (size_t i = 0; i < report->note_count; i++) {
        snprintf(line, sizeof(line), "Note: %s", report->notes[i]);
        text_paragraph(out, 0, width, line);
    }
}

static void text_report(const struct report *report, int width, bool tails, FILE *out)
{
    if (report_is_imported(report)) {
        text_imported(report, width, out);
        return;
    }
    text_source(report, width, out);
    sources(report, out);
    text_verdicts(report, width, out);
    for (size_t i = 0; i < report->op_count; i++)
        text_op(out, report, &report->ops[i], width);
    text_locks(out, report);
    text_queues(out, report);
    text_cpu(out, report, width);
    text_tails(out, report, width, tails);
    text_exemplars(out, report, width);
    clients(report, out);
    peers(report, out);
    text_losses(report, width, out);
}

int render_text(const struct report *report, const struct render_options *options, FILE *out)
{
    int width = options && options->width > 0 ? options->width : DEFAULT_WIDTH;

    if (width < SMALLEST_WIDTH)
        width = SMALLEST_WIDTH;
    errno = 0;
    for (size_t i = 0; i < report->each_count; i++) {
        text_report(report->each[i], width, options && options->tails, out);
        fputs("\n", out);
    }
    text_report(report, width, options && options->tails, out);
    if (fflush(out) == EOF || ferror(out))
        return err_set(errno ? errno : EIO, "the report cannot be written: %s",
                       strerror(errno ? errno : EIO));
    return 0;
}
