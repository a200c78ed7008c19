/* SPDX-License-Identifier: MIT */
#include "lttng_recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lttng/lttng-error.h>
#include <lttng/lttng.h>
#include <lttng/snapshot.h>

#include "err.h"
#include "session_daemon.h"

#define CHANNEL "optrail"

/* The first one always, the others with options.ceph: those of Ceph's own that ops are made of. */
static const char *const providers[] = {
    "optrail:", "oprequest:", "osd:", "pg:", "objectstore:", "bluestore:", "librbd:"};
enum { PROVIDERS = sizeof(providers) / sizeof(*providers) };

/* For so long the consumer daemon may be kept from writing sub-buffers out. */
#define PAUSE_SECONDS 1.0
/* So often the buffers are written out although they are not full: a recorder that is killed then
 * loses no more. */
#define SWITCH_US 1000000
/* The part of the memory that buffers may take. */
#define MEMORY_PART 8

struct lttng_recorder {
    char *session;
    struct lttng_handle *handle;
    struct lttng_buffers buffers;
    pid_t daemon; /* ours; 0: the machine's */
    bool created; /* the session */
    bool remote;  /* the trace goes to a relay daemon */
    size_t providers;
};

/* What liblttng-ctl says, as our error. */
static int complain(int code, const char *session, const char *what)
{
    switch (-code) {
    case LTTNG_ERR_EXIST_SESS:
        return err_set(
            EEXIST,
            "there is an LTTng session '%s' already: choose another --session, or `lttng "
            "destroy %s`",
            session, session);
    case LTTNG_ERR_RELAYD_CONNECT_FAIL:
    case LTTNG_ERR_ENABLE_CONSUMER_FAIL:
        return err_set(ECONNREFUSED,
                       "session '%s': the relay daemon cannot be reached (%s): is lttng-relayd "
                       "running there?",
                       session, lttng_strerror(code));
    case LTTNG_ERR_EPERM:
        return err_set(EACCES,
                       "session '%s': %s is not allowed: be root, or in the group `tracing`",
                       session, what);
    default:
        return err_set(EIO, "session '%s': %s: %s", session, what, lttng_strerror(code));
    }
}

static int need_daemon(struct lttng_recorder *recorder)
{
    int alive = lttng_session_daemon_alive();

    if (alive == 1)
        return 0;
    /* root's daemon has its files in /run, a user's in the home directory */
    const char *home = getenv("LTTNG_HOME") ? getenv("LTTNG_HOME") : getenv("HOME");
    if (geteuid() != 0 && (!home || access(home, W_OK | X_OK) < 0))
        return err_set(EACCES,
                       "no LTTng session daemon runs that this user may use, and none can be "
                       "started: %s cannot be written: be root, be in the group `tracing` while "
                       "root's lttng-sessiond runs, or set LTTNG_HOME",
                       home ? home : "$HOME");
    return session_daemon_start(&recorder->daemon);
}

static int create_session(struct lttng_recorder *recorder,
                          const struct lttng_recorder_options *options)
{
    int code;

    if (options->snapshot > 0)
        code = lttng_create_session_snapshot(options->session, NULL);
    else if (options->url)
        code = lttng_create_session(options->session, options->url);
    else {
        char *url = NULL;
        if (asprintf(&url, "file://%s", options->directory) < 0)
            return err_no_memory();
        code = lttng_create_session(options->session, url);
        free(url);
    }
    if (code < 0)
        return complain(code, options->session, "creating it");
    recorder->created = true;
    recorder->remote = options->url != NULL;
    return 0;
}

static int enable_channel(struct lttng_recorder *recorder,
                          const struct lttng_recorder_options *options, struct lttng_domain *domain)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct lttng_channel *channel = lttng_channel_create(domain);
    int code;

    if (!channel)
        return err_no_memory();
    recorder->buffers = lttng_buffers_choose(
        options->rate, options->snapshot > 0 ? options->snapshot : PAUSE_SECONDS,
        (unsigned)sysconf(_SC_NPROCESSORS_CONF), memory / MEMORY_PART);
    snprintf(channel->name, sizeof(channel->name), CHANNEL);
    channel->enabled = 1;
    channel->attr.overwrite = options->snapshot > 0;
    channel->attr.subbuf_size = recorder->buffers.bytes;
    channel->attr.num_subbuf = recorder->buffers.count;
    channel->attr.switch_timer_interval = options->snapshot > 0 ? 0 : SWITCH_US;
    channel->attr.output = LTTNG_EVENT_MMAP;
    code = lttng_enable_channel(recorder->handle, channel);
    lttng_channel_destroy(channel);
    return code < 0 ? complain(code, recorder->session, "making its buffers") : 0;
}

static int enable_events(struct lttng_recorder *recorder, const char *provider)
{
    struct lttng_event *event = lttng_event_create();
    int code;

    if (!event)
        return err_no_memory();
    event->type = LTTNG_EVENT_TRACEPOINT;
    event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
    event->loglevel = -1;
    snprintf(event->name, sizeof(event->name), "%s*", provider);
    code = lttng_enable_event_with_exclusions(recorder->handle, event, CHANNEL, NULL, 0, NULL);
    lttng_event_destroy(event);
    return code < 0 ? complain(code, recorder->session, "enabling its events") : 0;
}

/* Ours tell them by themselves, Ceph's do not. */
static int add_contexts(struct lttng_recorder *recorder)
{
    static const enum lttng_event_context_type types[] = {LTTNG_EVENT_CONTEXT_VPID,
                                                          LTTNG_EVENT_CONTEXT_VTID};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct lttng_event_context context = {.ctx = types[i]};
        int code = lttng_add_context(recorder->handle, &context, NULL, CHANNEL);
        if (code < 0)
            return complain(code, recorder->session, "adding process and thread to its events");
    }
    return 0;
}

int lttng_recorder_open(const struct lttng_recorder_options *options,
                        struct lttng_recorder **recorder)
{
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};
    struct lttng_recorder *made = calloc(1, sizeof(*made));
    int code, result = made ? 0 : err_no_memory();

    if (result == 0 && !(made->session = strdup(options->session)))
        result = err_no_memory();
    if (result == 0)
        result = need_daemon(made);
    if (result == 0)
        result = create_session(made, options);
    if (result == 0 && !(made->handle = lttng_create_handle(options->session, &domain)))
        result = err_no_memory();
    if (result == 0)
        result = enable_channel(made, options, &domain);
    if (made)
        made->providers = options->ceph ? PROVIDERS : 1;
    for (size_t i = 0; result == 0 && i < made->providers; i++)
        result = enable_events(made, providers[i]);
    if (result == 0 && options->ceph)
        result = add_contexts(made);
    if (result == 0 && (code = lttng_start_tracing(options->session)) < 0)
        result = complain(code, options->session, "starting it");
    if (result < 0) {
        lttng_recorder_close(made);
        return result;
    }
    *recorder = made;
    return 0;
}

void lttng_recorder_close(struct lttng_recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder->created)
        lttng_destroy_session_no_wait(recorder->session);
    if (recorder->handle)
        lttng_destroy_handle(recorder->handle);
    if (recorder->daemon)
        session_daemon_stop(recorder->daemon);
    free(recorder->session);
    free(recorder);
}

static bool is_recorded(const struct lttng_recorder *recorder, const char *event)
{
    for (size_t i = 0; i < recorder->providers; i++)
        if (strncmp(event, providers[i], strlen(providers[i])) == 0)
            return true;
    return false;
}

int lttng_recorder_daemons(struct lttng_recorder *recorder)
{
    struct lttng_event *events = NULL;
    int count = lttng_list_tracepoints(recorder->handle, &events);
    int daemons = 0;
    pid_t last = 0;

    if (count < 0)
        return complain(count, recorder->session, "asking who is registered");
    /* those of a process stand together */
    for (int i = 0; i < count; i++) {
        if (!is_recorded(recorder, events[i].name) || events[i].pid == last)
            continue;
        last = events[i].pid;
        daemons++;
    }
    free(events);
    return daemons;
}

bool lttng_recorder_alive(struct lttng_recorder *recorder)
{
    struct lttng_session *sessions = NULL;
    int count = lttng_list_sessions(&sessions);
    bool alive = false;

    for (int i = 0; i < count; i++)
        alive = alive || strcmp(sessions[i].name, recorder->session) == 0;
    free(sessions);
    return alive;
}

bool lttng_recorder_own_daemon(const struct lttng_recorder *recorder)
{
    return recorder->daemon != 0;
}

struct lttng_buffers lttng_recorder_buffers(const struct lttng_recorder *recorder)
{
    return recorder->buffers;
}

uint64_t lttng_recorder_buffer_bytes(const struct lttng_recorder *recorder)
{
    return recorder->buffers.bytes * recorder->buffers.count *
           (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
}

int lttng_recorder_snapshot(struct lttng_recorder *recorder, const char *directory)
{
    struct lttng_snapshot_output *output = lttng_snapshot_output_create();
    int code = 0;

    if (!output)
        return err_no_memory();
    if (lttng_snapshot_output_set_local_path(directory, output) < 0)
        code = -LTTNG_ERR_INVALID;
    if (code == 0)
        code = lttng_snapshot_record(recorder->session, output, 1);
    lttng_snapshot_output_destroy(output);
    return code < 0 ? complain(code, recorder->session, "writing a snapshot") : 0;
}

static void count_discarded(struct lttng_recorder *recorder, uint64_t *discarded)
{
    struct lttng_channel *channels = NULL;
    int count = lttng_list_channels(recorder->handle, &channels);

    for (int i = 0; i < count; i++) {
        uint64_t one = 0;
        if (lttng_channel_get_discarded_event_count(&channels[i], &one) == 0)
            *discarded += one;
    }
    free(channels);
}

int lttng_recorder_stop(struct lttng_recorder *recorder, uint64_t *discarded)
{
    int code = lttng_stop_tracing(recorder->session), destroyed;

    *discarded = 0;
    count_discarded(recorder, discarded);
    destroyed = lttng_destroy_session(recorder->session);
    recorder->created = false;
    if (code >= 0 && destroyed >= 0)
        return 0;
    if (recorder->remote)
        return err_set(ECONNABORTED,
                       "session '%s': its end could not be sent (%s): is the relay daemon gone? it "
                       "has what came until then",
                       recorder->session, lttng_strerror(code < 0 ? code : destroyed));
    return code < 0 ? complain(code, recorder->session, "stopping it")
                    : complain(destroyed, recorder->session, "ending it");
}
