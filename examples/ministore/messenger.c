/* SPDX-License-Identifier: MIT */
#include "messenger.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <optrail/probe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "daemon_log.h"
#include "daemon_stats.h"
#include "inject.h"

#define DRAIN_SECONDS 10

void connection_get(struct connection *connection)
{
    atomic_fetch_add_explicit(&connection->references, 1, memory_order_relaxed);
}

void connection_put(struct connection *connection)
{
    if (atomic_fetch_sub_explicit(&connection->references, 1, memory_order_acq_rel) != 1)
        return;
    close(connection->fd);
    pthread_cond_destroy(&connection->changed);
    lock_destroy(&connection->lock);
    free(connection);
}

struct request *messenger_begin(struct connection *connection,
                                const unsigned char header[FRAME_SIZE])
{
    struct frame frame;
    const char *wrong = frame_decode(header, &frame);
    if (!wrong && frame.reply)
        wrong = "a reply";
    if (wrong) {
        stats_add(connections_bad_frame, 1);
        log_limited("connection %lu: %s came where a request must stand; closed it",
                    (unsigned long)connection->number, wrong);
        return NULL;
    }
    connection_get(connection);
    struct request *request = request_new(connection, &frame);
    if (!request) {
        log_limited("connection %lu: no memory for a request; closed it",
                    (unsigned long)connection->number);
        connection_put(connection);
        return NULL;
    }
    request->throttle = &connection->messenger->throttle;
    OPTRAIL(messenger_throttle_begin, request, request_throttle_amount(&frame), 0);
    return request;
}

int messenger_admit(struct request *request)
{
    request->throttled = request_throttle_amount(&request->frame);
    inject_delay(INJECT_MESSENGER_THROTTLE, 1);
    OPTRAIL(messenger_throttle_end, request, request->throttled, 0);
    uint32_t length = frame_payload(&request->frame);
    if (length && !(request->payload = malloc(length))) {
        log_limited("connection %lu: no memory for %u bytes; closed it",
                    (unsigned long)request->connection->number, length);
        return -1;
    }
    return 0;
}

int messenger_received(struct request *request)
{
    struct messenger *messenger = request->connection->messenger;
    uint32_t length = frame_payload(&request->frame);
    uint32_t crc = length ? frame_crc(request->payload, length) : 0;
    if (crc != request->frame.payload_crc) {
        stats_add(connections_bad_frame, 1);
        log_limited("connection %lu: a damaged payload; closed it",
                    (unsigned long)request->connection->number);
        request_put(request);
        return -1;
    }
    atomic_fetch_add(&messenger->in_flight, 1);
    inject_delay(INJECT_MESSENGER_RECV, 1);
    OPTRAIL(messenger_recv_end, request, length, 0);
    inject_delay(INJECT_MESSENGER_DISPATCH, 1);
    OPTRAIL(messenger_dispatch, request, 0, 0);
    messenger->dispatch(messenger->context, request);
    return 0;
}

void messenger_reply_mark(struct request *request)
{
    OPTRAIL(reply_enqueue, request, request->data_length, 0);
}

void messenger_reply_send(struct request *request)
{
    struct connection *connection = request->connection;
    lock_take(&connection->lock);
    bool closed = connection->closed;
    if (!closed) {
        node_list_push(&connection->replies, &request->node);
        connection->messenger->kind->wake(connection);
    }
    lock_give(&connection->lock);
    if (closed)
        messenger_drop(request);
}

void messenger_send_begin(struct request *request)
{
    struct frame frame = {
        .type = request->frame.type,
        .reply = 1,
        .client = request->frame.client,
        .tid = request->frame.tid,
        .object = request->frame.object,
        .offset = request->frame.type == FRAME_STAT ? request->size : request->frame.offset,
        .length = request->data_length,
        .result = (uint32_t)request->error,
        .route = request->frame.route,
        .payload_crc = request->data_length ? frame_crc(request->data, request->data_length) : 0,
    };
    frame_encode(&frame, request->reply);
    inject_delay(INJECT_REPLY_QUEUE, 1);
    OPTRAIL(reply_send_begin, request, request->data_length, 0);
    inject_delay(INJECT_REPLY_SEND, 1);
}

void messenger_sent(struct request *request)
{
    OPTRAIL(op_finish, request, frame_payload(&request->frame), request->data_length);
    stats_add(answered[request->frame.type], 1);
    if (request->error)
        stats_add(failed[request->frame.type], 1);
    atomic_fetch_sub(&request->connection->messenger->in_flight, 1);
    request_put(request);
}

void messenger_drop(struct request *request)
{
    stats_add(replies_dropped, 1);
    atomic_fetch_sub(&request->connection->messenger->in_flight, 1);
    request_put(request);
}

void connection_close(struct connection *connection)
{
    struct node_list dropped;
    node_list_init(&dropped);
    lock_take(&connection->lock);
    if (!connection->closed) {
        connection->closed = true;
        shutdown(connection->fd, SHUT_RDWR);
        for (struct queue_node *node; (node = node_list_pop(&connection->replies));)
            node_list_push(&dropped, node);
        connection->messenger->kind->wake(connection);
    }
    lock_give(&connection->lock);
    for (struct queue_node *node; (node = node_list_pop(&dropped));)
        messenger_drop(request_of(node));
}

static int remember(struct messenger *messenger, struct connection *connection)
{
    lock_take(&messenger->lock);
    bool room = messenger->connection_count < messenger->options->max_connections;
    if (room) {
        messenger->connection_count++;
        connection->number = ++messenger->next_number;
        connection->next = messenger->connections;
        connection->previous = &messenger->connections;
        if (connection->next)
            connection->next->previous = &connection->next;
        messenger->connections = connection;
    }
    lock_give(&messenger->lock);
    return room ? 0 : -1;
}

void connection_forget(struct connection *connection)
{
    struct messenger *messenger = connection->messenger;
    lock_take(&messenger->lock);
    *connection->previous = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    /* the memory goes before the count: who sees zero may take the messenger down */
    connection_put(connection);
    messenger->connection_count--;
    pthread_cond_broadcast(&messenger->changed);
    lock_give(&messenger->lock);
}

static void adopt(struct messenger *messenger, int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        stats_add(connections_refused, 1);
        close(fd);
        return;
    }
    atomic_init(&connection->references, 1);
    connection->fd = fd;
    connection->messenger = messenger;
    lock_init(&connection->lock, LOCK_KIND_MUTEX, LOCK_CONNECTION, (uint64_t)fd);
    pthread_cond_init(&connection->changed, NULL);
    node_list_init(&connection->replies);
    if (remember(messenger, connection) != 0) {
        stats_add(connections_refused, 1);
        log_limited("a connection was refused: --max-connections are open");
        connection_put(connection);
        return;
    }
    if (messenger->kind->serve(connection) != 0) {
        stats_add(connections_refused, 1);
        log_limited("a connection was refused: no thread or memory to serve it");
        connection_forget(connection);
        return;
    }
    stats_add(connections_accepted, 1);
}

static void *accept_connections(void *argument)
{
    struct messenger *messenger = argument;
    struct pollfd fds[] = {{.fd = messenger->stop_event, .events = POLLIN},
                           {.fd = messenger->listener, .events = POLLIN}};
    while (!atomic_load(&messenger->stopping)) {
        if (poll(fds, 2, -1) < 0 || fds[0].revents)
            continue;
        int fd = accept4(messenger->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            adopt(messenger, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            stats_add(connections_refused, 1);
            log_limited("cannot take a connection: %s", strerror(errno));
            poll(fds, 1, 100); /* the backlog stays readable: do not spin on it */
        }
    }
    return NULL;
}

static int listen_on(struct messenger *messenger)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)messenger->options->port)};
    socklen_t length = sizeof(address);
    int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return log_error("no socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1024) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        log_error("cannot listen on 127.0.0.1:%u: %s; choose another --port",
                  (unsigned)messenger->options->port, strerror(errno));
        close(fd);
        return -1;
    }
    messenger->listener = fd;
    messenger->port = ntohs(address.sin_port);
    return 0;
}

int messenger_start(struct messenger *messenger, const struct daemon_options *options,
                    void (*dispatch)(void *, struct request *), void *context)
{
    *messenger = (struct messenger){
        .options = options,
        .kind = options->messenger == MESSENGER_ASYNC ? &messenger_async : &messenger_simple,
        .dispatch = dispatch,
        .context = context};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    lock_init(&messenger->lock, LOCK_KIND_MUTEX, LOCK_CONNECTIONS, 0);
    pthread_cond_init(&messenger->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    throttle_init(&messenger->throttle, LOCK_MESSAGE_THROTTLE, options->message_throttle);
    messenger->stop_event = eventfd(0, EFD_CLOEXEC);
    if (messenger->stop_event < 0)
        return log_error("no eventfd: %s", strerror(errno));
    if (listen_on(messenger) != 0)
        return -1;
    if (messenger->kind->start(messenger) != 0)
        return -1;
    if (pthread_create(&messenger->acceptor, NULL, accept_connections, messenger) != 0)
        return log_error("no thread for accepting connections");
    return 0;
}

void messenger_stop(struct messenger *messenger)
{
    atomic_store(&messenger->stopping, true);
    eventfd_write(messenger->stop_event, 1);
    pthread_join(messenger->acceptor, NULL);
    close(messenger->listener);

    uint64_t deadline = clock_now_ns() + DRAIN_SECONDS * NS_PER_SECOND;
    while (atomic_load(&messenger->in_flight) && clock_now_ns() < deadline)
        poll(NULL, 0, 1);
    if (atomic_load(&messenger->in_flight))
        log_error("%u requests were not answered within %d s", atomic_load(&messenger->in_flight),
                  DRAIN_SECONDS);

    throttle_stop(&messenger->throttle);
    lock_take(&messenger->lock);
    for (struct connection *c = messenger->connections; c; c = c->next)
        connection_close(c);
    while (messenger->connection_count)
        lock_wait(&messenger->lock, &messenger->changed);
    lock_give(&messenger->lock);
    messenger->kind->stop(messenger);
    close(messenger->stop_event);
}
