/* SPDX-License-Identifier: MIT */
/* The async messenger: a few workers, each with an epoll set of connections. A connection belongs
 * to one worker for good; other threads only hang replies on it and wake the worker. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "daemon_log.h"
#include "daemon_stats.h"
#include "messenger.h"
#include "named_lock.h"

#define EVENTS_AT_ONCE    64
#define REQUESTS_AT_ONCE  16 /* of one connection, before the others have their turn */
#define THROTTLE_RETRY_MS 1
#define IDLE_MS           500

struct worker {
    struct messenger *messenger;
    pthread_t thread;
    int epoll;
    int event; /* eventfd: there is something in `awake`, or the worker is to end */
    struct connection *connections; /* its own thread's */
    unsigned throttled;             /* how many of them wait for the message throttle */
    uint64_t next_sweep_ns;
    struct named_lock lock;
    struct connection *awake;
    bool stopped;
};

struct workers {
    unsigned count;
    unsigned next; /* the acceptor's: whose turn it is */
    struct worker worker[];
};

static void watch(struct worker *worker, struct connection *connection, int operation)
{
    struct epoll_event event = {.data.ptr = connection};
    if (!connection->throttled && !atomic_load(&worker->messenger->stopping))
        event.events |= EPOLLIN;
    if (connection->want_out)
        event.events |= EPOLLOUT;
    epoll_ctl(worker->epoll, operation, connection->fd, &event);
}

static void set_throttled(struct worker *worker, struct connection *connection, bool throttled)
{
    connection->throttled = throttled;
    worker->throttled += throttled ? 1 : -1u;
    watch(worker, connection, EPOLL_CTL_MOD);
}

/* Reads into the buffer from *done on. 1: it is full, 0: no more for now, -1: the connection has
 * ended. */
static int receive(struct connection *connection, void *buffer, uint32_t *done, uint32_t length)
{
    while (*done < length) {
        ssize_t got = recv(connection->fd, (char *)buffer + *done, length - *done, 0);
        if (got > 0) {
            *done += (uint32_t)got;
        } else if (got < 0 && errno == EINTR) {
            continue;
        } else if (got < 0 && errno == EAGAIN) {
            return 0;
        } else {
            if (connection->receiving || connection->header_received) {
                stats_add(connections_cut, 1);
                log_limited("connection %lu was cut inside a frame",
                            (unsigned long)connection->number);
            }
            return -1;
        }
        if (!connection->frame_began_ns)
            connection->frame_began_ns = clock_now_ns();
    }
    return 1;
}

/* Asks the message throttle for the request that is being received. 1: go on, 0: not yet,
 * -1: close. */
static int admit(struct worker *worker, struct connection *connection)
{
    struct request *request = connection->receiving;
    if (!throttle_try_take(&worker->messenger->throttle,
                           request_throttle_amount(&request->frame))) {
        if (!connection->throttled)
            set_throttled(worker, connection, true);
        return 0;
    }
    if (connection->throttled)
        set_throttled(worker, connection, false);
    connection->frame_began_ns = clock_now_ns(); /* waiting for us is not the client's slowness */
    return messenger_admit(request) == 0 ? 1 : -1;
}

/* Goes on with the connection's next request. 1: one is done, 0: nothing to do for now, -1: close
 * the connection. */
static int read_request(struct worker *worker, struct connection *connection)
{
    if (!connection->receiving) {
        if (atomic_load(&worker->messenger->stopping)) {
            watch(worker, connection, EPOLL_CTL_MOD);
            return 0;
        }
        int result =
            receive(connection, connection->header, &connection->header_received, FRAME_SIZE);
        if (result <= 0)
            return result;
        connection->receiving = messenger_begin(connection, connection->header);
        if (!connection->receiving)
            return -1;
        result = admit(worker, connection);
        if (result <= 0)
            return result;
    } else if (connection->throttled) {
        int result = admit(worker, connection);
        if (result <= 0)
            return result;
    }
    struct request *request = connection->receiving;
    int result =
        receive(connection, request->payload, &request->received, frame_payload(&request->frame));
    if (result <= 0)
        return result;
    connection->receiving = NULL;
    connection->header_received = 0;
    connection->frame_began_ns = 0;
    return messenger_received(request) == 0 ? 1 : -1;
}

static void read_requests(struct worker *worker, struct connection *connection)
{
    int result = 1;
    for (int i = 0; i < REQUESTS_AT_ONCE && result > 0; i++)
        result = read_request(worker, connection);
    if (result < 0)
        connection_close(connection);
}

/* 1: sent, 0: the socket is full, -1: the connection has ended. */
static int send_some(struct connection *connection, struct request *request)
{
    uint32_t whole = FRAME_SIZE + request->data_length;
    while (request->sent < whole) {
        struct iovec parts[2];
        struct msghdr message = {.msg_iov = parts};
        if (request->sent < FRAME_SIZE)
            parts[message.msg_iovlen++] =
                (struct iovec){request->reply + request->sent, FRAME_SIZE - request->sent};
        uint32_t data_sent = request->sent > FRAME_SIZE ? request->sent - FRAME_SIZE : 0;
        if (data_sent < request->data_length)
            parts[message.msg_iovlen++] =
                (struct iovec){request->data + data_sent, request->data_length - data_sent};
        ssize_t sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
        if (sent > 0)
            request->sent += (uint32_t)sent;
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -1;
    }
    return 1;
}

static void send_replies(struct worker *worker, struct connection *connection)
{
    int result = 1;
    while (result > 0) {
        if (!connection->sending) {
            lock_take(&connection->lock);
            struct queue_node *node = node_list_pop(&connection->replies);
            lock_give(&connection->lock);
            if (!node)
                break;
            connection->sending = request_of(node);
            messenger_send_begin(connection->sending);
        }
        uint32_t before = connection->sending->sent;
        result = send_some(connection, connection->sending);
        if (result > 0) {
            messenger_sent(connection->sending);
            connection->sending = NULL;
            connection->send_began_ns = 0;
        } else if (!connection->send_began_ns || connection->sending->sent != before) {
            connection->send_began_ns = clock_now_ns();
        }
    }
    if (result < 0) {
        connection_close(connection);
    } else if (connection->want_out != (connection->sending != NULL)) {
        connection->want_out = connection->sending != NULL;
        watch(worker, connection, EPOLL_CTL_MOD);
    }
}

/* A closed connection leaves its worker; after it nobody of the messenger knows it. */
static void leave(struct worker *worker, struct connection *connection)
{
    epoll_ctl(worker->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
    if (connection->throttled)
        worker->throttled--;
    if (connection->receiving)
        request_put(connection->receiving);
    if (connection->sending)
        messenger_drop(connection->sending);
    *connection->previous_of_worker = connection->next_of_worker;
    if (connection->next_of_worker)
        connection->next_of_worker->previous_of_worker = connection->previous_of_worker;
    connection_forget(connection);
}

static void join(struct worker *worker, struct connection *connection)
{
    connection->next_of_worker = worker->connections;
    connection->previous_of_worker = &worker->connections;
    if (connection->next_of_worker)
        connection->next_of_worker->previous_of_worker = &connection->next_of_worker;
    worker->connections = connection;
    watch(worker, connection, EPOLL_CTL_ADD);
}

static void handle_awake(struct worker *worker)
{
    lock_take(&worker->lock);
    struct connection *connection = worker->awake;
    worker->awake = NULL;
    lock_give(&worker->lock);
    while (connection) {
        struct connection *next = connection->next_awake;
        lock_take(&connection->lock);
        connection->awake = false;
        bool closed = connection->closed;
        lock_give(&connection->lock);
        if (!connection->previous_of_worker)
            join(worker, connection);
        if (closed)
            leave(worker, connection);
        else
            send_replies(worker, connection);
        connection = next;
    }
}

/* Its client is in the middle of a frame, or has not read replies, for too long. */
static bool is_stuck(const struct connection *connection, uint64_t now_ns, uint64_t limit_ns)
{
    uint64_t frame = connection->throttled ? 0 : connection->frame_began_ns;
    uint64_t reply = connection->send_began_ns;
    return (frame && now_ns > frame && now_ns - frame > limit_ns) ||
           (reply && now_ns > reply && now_ns - reply > limit_ns);
}

/* Gives those that wait for the throttle another try, and closes those that are stuck. */
static void handle_waiting(struct worker *worker)
{
    uint64_t now = clock_now_ns();
    bool sweep = now >= worker->next_sweep_ns;
    if (!worker->throttled && !sweep)
        return;
    if (sweep)
        worker->next_sweep_ns = now + IDLE_MS * 1000000ull;
    uint64_t limit = worker->messenger->options->frame_timeout_ns;
    for (struct connection *c = worker->connections; c; c = c->next_of_worker) {
        if (c->throttled)
            read_requests(worker, c);
        if (sweep && is_stuck(c, now, limit)) {
            stats_add(connections_slow, 1);
            log_limited("connection %lu: a frame or a reply took too long; closed it",
                        (unsigned long)c->number);
            connection_close(c);
        }
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct epoll_event events[EVENTS_AT_ONCE];
    for (;;) {
        int count = epoll_wait(worker->epoll, events, EVENTS_AT_ONCE,
                               worker->throttled ? THROTTLE_RETRY_MS : IDLE_MS);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            eventfd_t ignored;
            if (!connection) {
                eventfd_read(worker->event, &ignored);
                continue;
            }
            /* closing only marks and wakes, so the connection lives until handle_awake */
            if (events[i].events & EPOLLOUT)
                send_replies(worker, connection);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_requests(worker, connection);
        }
        handle_awake(worker);
        handle_waiting(worker);
        lock_take(&worker->lock);
        bool end = worker->stopped && !worker->awake;
        lock_give(&worker->lock);
        if (end)
            return NULL;
    }
}

/* Under connection->lock. */
static void wake(struct connection *connection)
{
    struct worker *worker = connection->worker;
    if (!worker || connection->awake)
        return;
    connection->awake = true;
    lock_take(&worker->lock);
    connection->next_awake = worker->awake;
    worker->awake = connection;
    lock_give(&worker->lock);
    eventfd_write(worker->event, 1);
}

static int serve(struct connection *connection)
{
    struct workers *workers = connection->messenger->workers;
    int flags = fcntl(connection->fd, F_GETFL);
    if (flags < 0 || fcntl(connection->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    lock_take(&connection->lock);
    connection->worker = &workers->worker[workers->next++ % workers->count];
    wake(connection); /* the worker takes it into its own hands */
    lock_give(&connection->lock);
    return 0;
}

static void stop(struct messenger *messenger)
{
    struct workers *workers = messenger->workers;
    if (!workers)
        return;
    for (unsigned i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->worker[i];
        lock_take(&worker->lock);
        worker->stopped = true;
        lock_give(&worker->lock);
        eventfd_write(worker->event, 1);
        pthread_join(worker->thread, NULL);
        close(worker->event);
        close(worker->epoll);
        lock_destroy(&worker->lock);
    }
    free(workers);
    messenger->workers = NULL;
}

static int start_worker(struct messenger *messenger, struct worker *worker)
{
    worker->messenger = messenger;
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (worker->epoll < 0 || worker->event < 0 ||
        epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->event, &event) != 0)
        return log_error("no epoll set for a messenger worker: %s", strerror(errno));
    lock_init(&worker->lock, LOCK_KIND_MUTEX, LOCK_WORKER, (uint64_t)worker->epoll);
    if (pthread_create(&worker->thread, NULL, work, worker) != 0)
        return log_error("no thread for a messenger worker");
    return 0;
}

static int start(struct messenger *messenger)
{
    unsigned count = (unsigned)messenger->options->messenger_workers;
    struct workers *workers = calloc(1, sizeof(*workers) + count * sizeof(struct worker));
    if (!workers)
        return log_error("no memory for the messenger's workers");
    messenger->workers = workers;
    for (; workers->count < count; workers->count++) {
        if (start_worker(messenger, &workers->worker[workers->count]) != 0) {
            stop(messenger);
            return -1;
        }
    }
    return 0;
}

const struct messenger_kind messenger_async = {
    .start = start, .stop = stop, .serve = serve, .wake = wake};
