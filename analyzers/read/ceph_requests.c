/* SPDX-License-Identifier: MIT */
#include "ceph_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ceph_making.h"
#include "err.h"
#include "points.h"

struct ceph_requests *ceph_requests_new(struct read_ceph *counts)
{
    struct ceph_requests *requests = calloc(1, sizeof(*requests));

    if (!requests || ceph_tables_init(&requests->tables) < 0) {
        free(requests);
        err_no_memory();
        return NULL;
    }
    requests->counts = counts;
    return requests;
}

void ceph_requests_free(struct ceph_requests *requests)
{
    if (!requests)
        return;
    ceph_tables_free(&requests->tables);
    free(requests);
}

static void add_bytes(uint64_t *sum, uint64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

/* A request's life */

static bool is_known(const struct ceph_requests *requests, uint32_t pid)
{
    for (size_t i = 0; i < requests->process_count; i++)
        if (requests->processes[i] == pid)
            return true;
    return false;
}

void ceph_requests_beside(struct ceph_requests *requests, const struct optrail_event *event)
{
    if (point_rows[event->point].role == ROLE_START && point_rows[event->point].key == KEY_OP &&
        is_known(requests, event->pid))
        requests->counts->beside_ours = true;
}

static void dispatch(struct making *making)
{
    struct ceph_requests *requests = making->requests;
    struct ceph_open *open = known_of(making, making->key);

    if (requests->process_count < PROCESSES && !is_known(requests, making->from->pid))
        requests->processes[requests->process_count++] = making->from->pid;

    if (open && open->sent) /* a replica's answer has the id of what it answers */
        return;
    open = open_of(making, making->key);
    ceph_open_reset(open);
    make(making, POINT_op_created, CEPH_TYPE_REQUEST, making->from->request.number);
    make(making, POINT_op_identify, making->from->request.number, making->from->request.tid);
}

static void learn_flags(struct making *making, struct ceph_open *open, uint64_t flags)
{
    static const struct {
        uint64_t flags;
        enum point point;
    } told[] = {
        {CEPH_RMW_READ | CEPH_RMW_PGOP, POINT_op_may_read},
        {CEPH_RMW_WRITE | CEPH_RMW_CACHE, POINT_op_may_write},
        {CEPH_RMW_CLASS_READ | CEPH_RMW_CLASS_WRITE, POINT_op_may_call},
    };

    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
        if ((flags & told[i].flags) && !(open->rmw & told[i].flags))
            make(making, told[i].point, 0, 0);
    open->rmw |= (uint16_t)flags;
}

/* "waiting for subops from 1,2": how many there are; 0 when it says something else */
static uint8_t peers_of(const char *text)
{
    const char *from = strstr(text, "from ");
    unsigned peers = from != NULL;

    for (const char *at = from; at && *at && peers < UINT8_MAX; at++)
        peers += *at == ',';
    return (uint8_t)peers;
}

static enum point parking_of(const char *text)
{
    static const struct {
        const char *begin;
        enum point point;
    } reasons[] = {
        {"waiting for missing object", POINT_parked_missing},
        {"waiting for all missing", POINT_parked_missing},
        {"waiting for degraded object", POINT_parked_degraded},
        {"waiting for blocked object", POINT_parked_blocked},
        {"waiting for cache not full", POINT_parked_cache_full},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (strncmp(text, reasons[i].begin, strlen(reasons[i].begin)) == 0)
            return reasons[i].point;
    return POINT_op_delayed;
}

static void started(struct making *making, struct ceph_open *open)
{
    bool no_flags = making->from->numbers[0] == 0;

    if (open->sent && no_flags) { /* what handles a replica's answer is started, too */
        open->answers++;
        if (open->answers == open->peers) {
            make(making, POINT_replica_asked, open->sent_ns, 0);
            make(making, POINT_op_replica_committed, 0, 0);
        }
    } else if (no_flags) {
        make(making, POINT_op_started, 0, 0);
        make(making, POINT_osd_replica_started, 0, 0);
    } else {
        make(making, POINT_op_started, 0, 0);
    }
}

static void mark(struct making *making)
{
    struct ceph_open *open = open_of(making, making->key);

    learn_flags(making, open, making->from->numbers[0]);
    switch (making->from->numbers[1]) {
    case CEPH_POINT_QUEUED:
        if (!open->sent)
            make(making, POINT_osd_enqueue, 0, 0);
        break;
    case CEPH_POINT_DELAYED:
        open->delayed = true;
        make(making, parking_of(making->from->text), 0, 0);
        break;
    case CEPH_POINT_STARTED:
        started(making, open);
        break;
    case CEPH_POINT_SUBOPS_SENT:
        open->sent = true;
        open->sent_ns = making->from->time_ns;
        open->peers = peers_of(making->from->text);
        make(making, POINT_op_subops_sent, 0, 0);
        break;
    case CEPH_POINT_COMMIT_SENT:
        make(making, POINT_osd_commit_sent, open->bytes_in, open->bytes_out);
        ceph_open_forget(open);
        break;
    default: /* CEPH_POINT_REACHED comes right behind CEPH_TAKE */
        break;
    }
}

/* The thread works for none that is known. */
static void turn(struct making *making)
{
    if (making->from->has_thread)
        make_keyed(making, POINT_thread_turn, 0, 0, 0);
}

static void take(struct making *making, bool identified)
{
    struct ceph_thread *thread = thread_of(making);
    struct ceph_open *open = identified ? open_of(making, making->key) : NULL;

    if (thread)
        *thread = ceph_thread_of(thread);
    if (!open || open->sent) {
        turn(making);
        return;
    }
    open->delayed = false;
    open->taken = true;
    open->phase = CEPH_CHECKING;
    open->worker = making->tid;
    if (thread)
        thread->request = making->key;
    make(making, POINT_osd_dequeue, 0, 0);
}

static bool only_reads(const struct ceph_open *open)
{
    return (open->rmw & (CEPH_RMW_READ | CEPH_RMW_CLASS_READ | CEPH_RMW_PGOP)) &&
           !(open->rmw & (CEPH_RMW_WRITE | CEPH_RMW_CLASS_WRITE | CEPH_RMW_CACHE));
}

static void prepared(struct making *making)
{
    struct ceph_open *open = open_of(making, making->key);

    open->phase = CEPH_BEHIND;
    make(making, POINT_osd_prepared, 0, 0);
    make(making, only_reads(open) ? POINT_osd_answer_begin : POINT_osd_submit_begin, 0, 0);
}

/* Ceph tells no end of a read: its answer has been made when the worker lets it go, unless it is
 * parked. */
static bool is_answered(const struct ceph_open *open)
{
    return only_reads(open) && !open->delayed && !open->sent;
}

static void leave(struct making *making, bool identified)
{
    struct ceph_thread *thread = thread_of(making);
    struct ceph_open *open = identified ? known_of(making, making->key) : NULL;

    if (thread)
        *thread = ceph_thread_of(thread);
    if (!open || !open->taken || open->worker != making->tid) {
        turn(making); /* it handled an answer, or its request is answered already */
        return;
    }
    open->taken = false;
    if (is_answered(open)) {
        make(making, POINT_osd_worked, open->bytes_in, open->bytes_out);
        ceph_open_forget(open);
    } else {
        make(making, POINT_osd_leave, 0, 0);
    }
}

static void queue(struct making *making)
{
    struct ceph_open *open = open_of(making, making->key);

    learn_flags(making, open, making->from->numbers[0]);
    if (!open->taken && !open->sent) /* else a worker was faster than the one who tells of it */
        make(making, POINT_osd_enqueue, 0, 0);
}

/* What tells of no request, but comes in its thread */

static void count_bytes(struct making *making)
{
    struct ceph_thread *thread = thread_of(making);
    struct ceph_open *open = thread && thread->request ? known_of(making, thread->request) : NULL;

    if (open)
        add_bytes(making->from->action == CEPH_READS ? &open->bytes_out : &open->bytes_in,
                  making->from->numbers[0]);
}

/* Which events need which */

static bool has_request(enum ceph_action action)
{
    return action <= CEPH_PREPARED;
}

static bool needs_thread(enum ceph_action action)
{
    return action == CEPH_READS || action == CEPH_WRITES || action == CEPH_STEP ||
           action == CEPH_STEP_END || action == CEPH_TXC || action == CEPH_CALL ||
           action == CEPH_CALL_END || action == CEPH_AIO_END;
}

static void translate(struct making *making, bool identified)
{
    switch (making->from->action) {
    case CEPH_DISPATCH:
        dispatch(making);
        break;
    case CEPH_QUEUE:
        queue(making);
        break;
    case CEPH_TAKE:
        take(making, identified);
        break;
    case CEPH_LEAVE:
        leave(making, identified);
        break;
    case CEPH_FLAGS:
        learn_flags(making, open_of(making, making->key), making->from->numbers[0]);
        break;
    case CEPH_MARK:
        mark(making);
        break;
    case CEPH_PREPARE:
        open_of(making, making->key)->phase = CEPH_PREPARING;
        make(making, POINT_osd_prepare_begin, 0, 0);
        break;
    case CEPH_PREPARED:
        prepared(making);
        break;
    case CEPH_READS:
    case CEPH_WRITES:
        count_bytes(making);
        break;
    case CEPH_STEP:
        ceph_make_step(making);
        break;
    case CEPH_STEP_END:
        ceph_make_step_end(making);
        break;
    case CEPH_TXC:
        ceph_make_txc(making);
        break;
    case CEPH_TXC_STATE:
        ceph_make_txc_state(making);
        break;
    case CEPH_TXC_COMMIT:
        ceph_make_txc_commit(making);
        break;
    case CEPH_TXC_END:
        ceph_make_txc_end(making);
        break;
    case CEPH_CALL:
        ceph_make_call(making);
        break;
    case CEPH_CALL_END:
        ceph_make_call_end(making);
        break;
    case CEPH_AIO:
        ceph_make_aio(making);
        break;
    case CEPH_AIO_END:
        ceph_make_aio_end(making);
        break;
    case CEPH_AIO_COMPLETE:
        ceph_make_aio_complete(making);
        break;
    case CEPH_NOT_NEEDED:
    case CEPH_UNMAPPED:
    case CEPH_ACTION_COUNT:
        break;
    }
}

int ceph_requests_event(struct ceph_requests *requests, const struct ceph_event *event,
                        struct optrail_event *made)
{
    const struct ceph_request *request = &event->request;
    struct read_ceph *counts = requests->counts;
    struct making making = {.requests = requests, .from = event, .made = made};
    bool identified = request->type || request->number || request->tid || request->incarnation;

    making.key = ceph_key('R', request->type, request->number, request->tid, request->incarnation);
    /* without threads a request is its own thread: what carries its id joins all the same */
    making.tid = event->has_thread ? event->tid : (uint32_t)making.key;
    counts->events++;
    counts->seen |= 1u << event->action;
    counts->without_process = counts->without_process || event->pid == 0;
    if (event->action == CEPH_UNMAPPED) {
        counts->unmapped++;
        return 0;
    }
    if (has_request(event->action) && !identified) {
        counts->without_request++;
        if (event->action != CEPH_TAKE && event->action != CEPH_LEAVE)
            return 0;
    }
    if (needs_thread(event->action) && !event->has_thread)
        counts->without_thread++;
    translate(&making, identified);
    if (making.count == 0)
        counts->not_needed++;
    return making.count;
}
