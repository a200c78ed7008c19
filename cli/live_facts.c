/* SPDX-License-Identifier: MIT */
#include "live_facts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"

/* A text of our own; NULL when memory is short. */
static const char *keep(struct live_facts *facts, char *text)
{
    if (text)
        facts->texts[facts->text_count++] = text;
    return text;
}

/* One fact; the texts are copied. `text` NULL: the number. Facts that find no room are left out:
 * there are far fewer of them. */
static int add(struct live_facts *facts, const char *name, const char *text, uint64_t number)
{
    struct event_fact *fact = &facts->facts[facts->count];

    if (facts->count == LIVE_FACTS)
        return 0;
    *fact = (struct event_fact){.name = keep(facts, strdup(name)), .number = number};
    if (fact->name && text)
        fact->text = keep(facts, strdup(text));
    if (!fact->name || (text && !fact->text)) {
        *fact = (struct event_fact){0};
        return err_no_memory();
    }
    facts->count++;
    return 0;
}

int live_facts_begin(struct live_facts *facts, const struct target *target, const char *map,
                     const char *detail, const char *recording)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    const struct {
        const char *name, *text;
    } rows[] = {
        {"hostname", host},
        {"recording", recording},
        {"recorder_version", OPTRAIL_VERSION},
        {"daemon", target->kind},
        {"daemon_id", target->id},
        {"daemon_version", target->version},
        {"store", target->store},
        {"points_from", map ? "map" : "daemon"},
        {"map", map ? map : ""},
        {"detail", detail},
    };
    int result = add(facts, "daemon_pid", NULL, (uint64_t)target->pid);

    for (size_t i = 0; result == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
        result = add(facts, rows[i].name, rows[i].text, 0);
    return result;
}

/* What the daemon had of the CPUs. */
static int add_cpu(struct live_facts *facts, const struct report_cpu *cpu)
{
    const struct {
        const char *name;
        uint64_t number;
    } rows[] = {
        {"cpu_seconds_ns", (uint64_t)llround(cpu->seconds * 1e9)},
        {"cpu_run_ns", cpu->run_ns},
        {"cpu_wait_ns", cpu->wait_ns},
        {"cpu_count", cpu->cpus},
        {"cpu_busy_millionths", (uint64_t)llround(cpu->busy * 1e6)},
        {"cpu_threads", cpu->threads},
        {"cpu_threads_ended", cpu->ended},
    };
    int result = 0;

    for (size_t i = 0; cpu->known && result == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
        result = add(facts, rows[i].name, NULL, rows[i].number);
    return result;
}

int live_facts_end(struct live_facts *facts, const struct report *report)
{
    char name[64];
    int result = add_cpu(facts, &report->cpu);

    for (size_t i = 0; result == 0 && i < report->counts.other_count; i++) {
        snprintf(name, sizeof(name), "count_%s", report->counts.others[i].name);
        result = add(facts, name, NULL, report->counts.others[i].value);
    }
    for (size_t i = 0; result == 0 && i < report->note_count; i++) {
        snprintf(name, sizeof(name), "note_%zu", i + 1);
        result = add(facts, name, report->notes[i], 0);
    }
    return result;
}

void live_facts_free(struct live_facts *facts)
{
    for (size_t i = 0; i < facts->text_count; i++)
        free(facts->texts[i]);
    *facts = (struct live_facts){0};
}
