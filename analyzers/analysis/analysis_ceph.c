/* SPDX-License-Identifier: MIT */
#include "analysis_ceph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ceph_tracepoints.h"

static bool saw(const struct read_ceph *ceph, enum ceph_action action)
{
    return ceph->seen >> action & 1;
}

/* Without these an OSD's ops do not begin, or do not end. */
static const struct {
    enum ceph_action action;
    const char *name, *without;
} needed[] = {
    {CEPH_DISPATCH, "osd:ms_fast_dispatch", "no op begins"},
    {CEPH_TAKE, "osd:opwq_process_start", "no read ends"},
    {CEPH_LEAVE, "osd:opwq_process_finish", "no read ends"},
    {CEPH_MARK, "oprequest:mark_flag_point", "no write ends"},
};

static int note_missing(struct report *report, const struct read_ceph *ceph)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
        if (saw(ceph, needed[i].action))
            continue;
        int result = report_add_note(report, "the trace lacks %s, without which %s", needed[i].name,
                                     needed[i].without);
        if (result < 0)
            return result;
    }
    return 0;
}

static int note_osd(struct report *report, const struct read_ceph *ceph)
{
    int result = note_missing(report, ceph);

    if (result == 0)
        result = report_add_note(
            report,
            "Ceph's own tracepoints tell no messenger, no journal, no lfn_open and no reply "
            "queue: an op begins when its message is dispatched, and ends when the commit "
            "is told; a read when its worker lets go of it, which is too early where it is "
            "erasure-coded or proxied");
    if (result == 0 && !saw(ceph, CEPH_TXC) && saw(ceph, CEPH_STEP))
        result =
            report_add_note(report, "the steps of FileStore name no op: what a write waits for "
                                    "is not told apart");
    else if (result == 0 && !saw(ceph, CEPH_TXC))
        result = report_add_note(report, "no transaction of BlueStore is told (bluestore_tracing): "
                                         "what a write waits for is not told apart");
    if (result == 0 && ceph->without_request > 0)
        result = report_add_note(report,
                                 "%" PRIu64 " events are of messages without a request id "
                                 "(recovery, erasure-coded parts, in 0.94 and 9.1 the "
                                 "replicas' answers): they are of no op",
                                 ceph->without_request);
    return result;
}

int analysis_ceph_counts(struct report *report, const struct read_ceph *ceph)
{
    const struct {
        const char *name;
        uint64_t value;
    } others[] = {
        {"ceph_events", ceph->events},
        {"ceph_events_not_needed", ceph->not_needed},
        {"ceph_events_unmapped", ceph->unmapped},
        {"ceph_events_without_request", ceph->without_request},
        {"ceph_events_without_thread", ceph->without_thread},
        {"ceph_requests_forgotten", ceph->forgotten},
    };
    int result = 0;

    for (size_t i = 0; ceph->events > 0 && result == 0 && i < sizeof(others) / sizeof(*others); i++)
        result = report_add_other(report, others[i].name, others[i].value);
    return result;
}

int analysis_ceph_notes(struct report *report, const struct read_ceph *ceph)
{
    bool of_osd = saw(ceph, CEPH_DISPATCH) || saw(ceph, CEPH_TAKE) || saw(ceph, CEPH_MARK);
    int result = of_osd ? note_osd(report, ceph) : 0;

    if (result == 0 && ceph->without_thread > 0)
        result = report_add_note(report,
                                 "%" PRIu64 " events are joined to an op by their thread alone, "
                                 "which the trace does not tell: record with `lttng add-context "
                                 "--userspace --type vpid --type vtid`",
                                 ceph->without_thread);
    if (result == 0 && ceph->without_process)
        result = report_add_note(report, "the trace does not tell which process an event is of: "
                                         "when several daemons are in it, their ops are mixed up; "
                                         "record with `lttng add-context --userspace --type vpid`");
    if (result == 0 && ceph->beside_ours)
        result = report_add_note(report, "a process tells its requests by optrail's points and by "
                                         "Ceph's own tracepoints: each of them counts twice");
    return result;
}

#define CEPH_COUNTERS(X)                                                                           \
    X(events)                                                                                      \
    X(not_needed)                                                                                  \
    X(unmapped)                                                                                    \
    X(without_request) X(without_thread) X(forgotten) X(seen) X(without_process) X(beside_ours)

void analysis_ceph_save(const struct read_ceph *ceph, struct profile_writer *writer)
{
    if (ceph->events == 0)
        return;
    profile_put_row(writer, "ceph");
#define PUT(field) profile_put_number(writer, (uint64_t)ceph->field);
    CEPH_COUNTERS(PUT)
#undef PUT
}

static uint64_t most_of(size_t size)
{
    if (size == sizeof(uint64_t))
        return PROFILE_MAX_NUMBER;
    return size == sizeof(uint32_t) ? UINT32_MAX : 1;
}

void analysis_ceph_load(struct read_ceph *ceph, struct profile_reader *reader)
{
#define TAKE(field)                                                                                \
    ceph->field = (__typeof__(ceph->field))profile_number(reader, most_of(sizeof(ceph->field)));
    CEPH_COUNTERS(TAKE)
#undef TAKE
}
