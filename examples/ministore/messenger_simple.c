/* SPDX-License-Identifier: MIT */
/* The simple messenger, as Ceph's was until Infernalis: a reader and a writer thread for each
 * connection, both of which block in the socket. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "clock.h"
#include "daemon_log.h"
#include "daemon_stats.h"
#include "messenger.h"

enum received { RECEIVED, RECEIVED_END, RECEIVED_CUT, RECEIVED_SLOW };

/* Fills the buffer. `idle`: between two frames, where the wait is not limited. */
static enum received receive(struct connection *connection, void *buffer, uint32_t length,
                             bool idle)
{
    uint64_t limit = connection->messenger->options->frame_timeout_ns;
    uint64_t began = clock_now_ns();
    for (uint32_t done = 0; done < length;) {
        ssize_t got = recv(connection->fd, (char *)buffer + done, length - done, 0);
        if (got > 0) {
            if (idle && done == 0)
                began = clock_now_ns();
            done += (uint32_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return idle && done == 0 ? RECEIVED_END : RECEIVED_CUT;
        }
        if (done < length && !(idle && done == 0) && clock_now_ns() - began > limit)
            return RECEIVED_SLOW;
    }
    return RECEIVED;
}

static void note_end(struct connection *connection, enum received how)
{
    lock_take(&connection->lock);
    bool ours = connection->closed;
    lock_give(&connection->lock);
    if (ours || how == RECEIVED_END)
        return;
    if (how == RECEIVED_CUT) {
        stats_add(connections_cut, 1);
        log_limited("connection %lu was cut inside a frame", (unsigned long)connection->number);
    } else {
        stats_add(connections_slow, 1);
        log_limited("connection %lu: a frame took too long; closed it",
                    (unsigned long)connection->number);
    }
}

/* One request; false when the connection is at its end. */
static bool read_request(struct connection *connection)
{
    struct messenger *messenger = connection->messenger;
    unsigned char header[FRAME_SIZE];
    enum received how = receive(connection, header, FRAME_SIZE, true);
    if (how != RECEIVED) {
        note_end(connection, how);
        return false;
    }
    if (atomic_load(&messenger->stopping)) {
        /* not begun, not answered; the replies to earlier ones still go out */
        lock_take(&connection->lock);
        while (!connection->closed)
            lock_wait(&connection->lock, &connection->changed);
        lock_give(&connection->lock);
        return false;
    }
    struct request *request = messenger_begin(connection, header);
    if (!request)
        return false;
    if (!throttle_take(&messenger->throttle, request_throttle_amount(&request->frame)) ||
        messenger_admit(request) != 0) {
        request_put(request);
        return false;
    }
    how = receive(connection, request->payload, frame_payload(&request->frame), false);
    if (how != RECEIVED) {
        note_end(connection, how);
        request_put(request);
        return false;
    }
    return messenger_received(request) == 0;
}

static bool send_reply(struct request *request)
{
    struct connection *connection = request->connection;
    uint64_t limit = connection->messenger->options->frame_timeout_ns;
    uint32_t whole = FRAME_SIZE + request->data_length;
    messenger_send_begin(request);
    uint64_t began = clock_now_ns();
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
        if (sent > 0) {
            request->sent += (uint32_t)sent;
        } else if (errno == EAGAIN && clock_now_ns() - began > limit) {
            stats_add(connections_slow, 1);
            log_limited("connection %lu: its replies are not read; closed it",
                        (unsigned long)connection->number);
            return false;
        } else if (errno != EAGAIN && errno != EINTR) {
            return false;
        }
    }
    messenger_sent(request);
    return true;
}

static void *write_replies(void *argument)
{
    struct connection *connection = argument;
    for (;;) {
        lock_take(&connection->lock);
        while (!connection->replies.first && !connection->closed)
            lock_wait(&connection->lock, &connection->changed);
        struct queue_node *node = node_list_pop(&connection->replies);
        lock_give(&connection->lock);
        if (!node)
            return NULL;
        if (!send_reply(request_of(node))) {
            messenger_drop(request_of(node));
            connection_close(connection);
            return NULL;
        }
    }
}

static void *read_requests(void *argument)
{
    struct connection *connection = argument;
    pthread_t writer;
    bool has_writer = pthread_create(&writer, NULL, write_replies, connection) == 0;
    if (has_writer) {
        while (read_request(connection))
            ;
    } else {
        stats_add(connections_refused, 1);
        log_limited("connection %lu: no thread to serve it; closed it",
                    (unsigned long)connection->number);
    }
    connection_close(connection);
    if (has_writer)
        pthread_join(writer, NULL);
    connection_forget(connection);
    return NULL;
}

static int serve(struct connection *connection)
{
    struct timeval limit = {
        .tv_sec = (time_t)(connection->messenger->options->frame_timeout_ns / NS_PER_SECOND),
        .tv_usec =
            (suseconds_t)(connection->messenger->options->frame_timeout_ns % NS_PER_SECOND / 1000)};
    setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(connection->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t reader;
    int result = pthread_create(&reader, &detached, read_requests, connection);
    pthread_attr_destroy(&detached);
    return result == 0 ? 0 : -1;
}

static void wake(struct connection *connection)
{
    pthread_cond_broadcast(&connection->changed);
}

static int start(struct messenger *messenger)
{
    (void)messenger;
    return 0;
}

static void stop(struct messenger *messenger)
{
    (void)messenger;
}

const struct messenger_kind messenger_simple = {
    .start = start, .stop = stop, .serve = serve, .wake = wake};
