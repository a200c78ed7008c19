/* SPDX-License-Identifier: MIT */
#include "replication.h"

#include <errno.h>
#include <optrail/probe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "daemon_log.h"
#include "daemon_stats.h"
#include "inject.h"
#include "named_lock.h"
#include "tcp.h"

#define PEERS_MAX 16

/* A write's copy for one peer. It has two references to its request: the sender's, and one until
 * the peer has answered. */
struct replica {
    struct queue_node node; /* in to_send */
    struct replica *older, *newer;
    struct request *request;
    uint64_t asked_ns;
    uint32_t route;
};

struct peer {
    char host[256];
    uint16_t port;
    unsigned number; /* from 1 */
    int fd;
    pthread_t sender, receiver;
    bool has_sender, has_receiver;

    struct named_lock lock; /* of what follows */
    pthread_cond_t filled;
    struct node_list to_send;
    struct replica *oldest, *newest; /* not answered, in the order in which they were asked */
    uint32_t route;                  /* the last one given */
    uint64_t answered_ns;            /* when it last answered something */
    bool gone;
    bool stopping;
};

static struct {
    unsigned count;
    struct peer peers[PEERS_MAX];
    struct finisher *finisher; /* weak */
    uint64_t timeout_ns;
} replication;

int replication_add_peer(const char *text)
{
    const char *colon = strrchr(text, ':');
    char *end;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (replication.count == PEERS_MAX)
        return log_error("--peer %s: there can be at most %d peers", text, PEERS_MAX);
    struct peer *peer = &replication.peers[replication.count];
    if (length == 0 || length >= sizeof(peer->host) || port < 1 || port > 65535 || *end)
        return log_error("--peer %s: it must read HOST:PORT, for example 127.0.0.1:4000", text);
    memcpy(peer->host, text, length);
    peer->host[length] = '\0';
    peer->port = (uint16_t)port;
    peer->fd = -1;
    peer->number = ++replication.count;
    return 0;
}

/* Under the peer's lock. */
static void take_off(struct peer *peer, struct replica *replica)
{
    if (replica->older)
        replica->older->newer = replica->newer;
    else
        peer->oldest = replica->newer;
    if (replica->newer)
        replica->newer->older = replica->older;
    else
        peer->newest = replica->older;
}

/* The op waits for this copy no longer. */
static void join(const struct peer *peer, const struct replica *replica)
{
    struct request *request = replica->request;
    OPTRAIL(replica_join, request, peer->number, 0);
    finisher_queue(replication.finisher, request);
    request_put(request);
}

int replication_prepare(struct request *request)
{
    if (request->frame.type != FRAME_WRITE || replication.count == 0)
        return 0;
    request->replicas = calloc(replication.count, sizeof(*request->replicas));
    return request->replicas ? 0 : ENOMEM;
}

/* The op's branch begins. False: the peer is gone. */
static bool fork_to(struct peer *peer, struct request *request)
{
    lock_take(&peer->lock);
    bool gone = peer->gone;
    lock_give(&peer->lock);
    if (gone) {
        stats_add(replicas_missed, 1);
        return false;
    }
    request_get(request); /* until the answer */
    request_get(request); /* the sender's */
    atomic_fetch_add_explicit(&request->parts, 1, memory_order_relaxed);
    request->replicas[peer->number - 1].request = request;
    OPTRAIL(replica_fork, request, peer->number, 0);
    return true;
}

static void hand_over(struct peer *peer, struct replica *replica)
{
    lock_take(&peer->lock);
    bool gone = peer->gone; /* since the fork */
    if (!gone) {
        replica->route = ++peer->route;
        replica->asked_ns = clock_now_ns();
        replica->older = peer->newest;
        if (peer->newest)
            peer->newest->newer = replica;
        else
            peer->oldest = replica;
        peer->newest = replica;
        node_list_push(&peer->to_send, &replica->node);
        pthread_cond_signal(&peer->filled);
    }
    lock_give(&peer->lock);
    if (gone) {
        stats_add(replicas_missed, 1);
        request_put(replica->request);
        join(peer, replica);
    }
}

void replication_send(struct request *request)
{
    unsigned forked = 0;
    if (!request->replicas)
        return;
    /* all forks come before the first answer, so that the wait for the peers is one */
    for (unsigned i = 0; i < replication.count; i++)
        forked |= (unsigned)fork_to(&replication.peers[i], request) << i;
    for (unsigned i = 0; i < replication.count; i++) {
        if (forked >> i & 1)
            hand_over(&replication.peers[i], &request->replicas[i]);
    }
}

static int send_copy(const struct peer *peer, const struct replica *replica)
{
    const struct request *request = replica->request;
    struct frame frame = request->frame;
    unsigned char header[FRAME_SIZE];
    frame.type = FRAME_REPLICATE;
    frame.route = replica->route;
    frame_encode(&frame, header);
    struct iovec parts[2] = {{header, FRAME_SIZE}, {request->payload, frame.length}};
    inject_delay(INJECT_REPLICA_SEND, 1);
    return tcp_send(peer->fd, parts, 2);
}

static void *send_copies(void *argument)
{
    struct peer *peer = argument;
    for (;;) {
        lock_take(&peer->lock);
        while (!peer->to_send.first && !peer->gone)
            lock_wait(&peer->lock, &peer->filled);
        struct queue_node *node = node_list_pop(&peer->to_send);
        bool gone = peer->gone;
        lock_give(&peer->lock);
        if (!node)
            return NULL;
        struct replica *replica = queue_entry(node, struct replica, node);
        if (!gone && send_copy(peer, replica) != 0)
            shutdown(peer->fd, SHUT_RDWR); /* the receiver sees it and gives the peer up */
        request_put(replica->request);
    }
}

/* What is wrong with the answer; NULL when it was taken. */
static const char *take_answer(struct peer *peer, const unsigned char header[FRAME_SIZE])
{
    struct frame frame;
    const char *wrong = frame_decode(header, &frame);
    if (wrong)
        return wrong;
    if (!frame.reply || frame.type != FRAME_REPLICATE)
        return "it sent what is no answer to a copy";
    lock_take(&peer->lock);
    struct replica *replica = peer->oldest;
    while (replica && replica->route != frame.route)
        replica = replica->newer;
    if (replica)
        take_off(peer, replica);
    peer->answered_ns = clock_now_ns();
    lock_give(&peer->lock);
    if (!replica)
        return "it answered what it was not asked";
    if (frame.result) {
        int none = 0;
        atomic_compare_exchange_strong(&replica->request->replica_error, &none, (int)frame.result);
        stats_add(replicas_failed, 1);
    }
    join(peer, replica);
    return NULL;
}

static bool is_silent(struct peer *peer)
{
    lock_take(&peer->lock);
    uint64_t now = clock_now_ns();
    uint64_t since = peer->oldest ? peer->oldest->asked_ns : now;
    if (since < peer->answered_ns)
        since = peer->answered_ns;
    lock_give(&peer->lock);
    return now > since && now - since > replication.timeout_ns;
}

static void give_up(struct peer *peer, const char *why)
{
    lock_take(&peer->lock);
    struct replica *owed = peer->oldest;
    bool stopping = peer->stopping;
    peer->oldest = peer->newest = NULL;
    peer->gone = true;
    pthread_cond_signal(&peer->filled);
    lock_give(&peer->lock);
    shutdown(peer->fd, SHUT_RDWR);
    if (!stopping) {
        stats_add(peers_lost, 1);
        log_error("peer %u, %s:%u: %s; it gets no more writes", peer->number, peer->host,
                  (unsigned)peer->port, why);
    }
    while (owed) {
        struct replica *next = owed->newer; /* the request may be gone after the join */
        stats_add(replicas_missed, 1);
        join(peer, owed);
        owed = next;
    }
}

static void *receive_answers(void *argument)
{
    struct peer *peer = argument;
    unsigned char header[FRAME_SIZE];
    size_t received = 0;
    const char *why = NULL;
    uint64_t look_ms = replication.timeout_ns / 4000000;
    look_ms = look_ms < 1 ? 1 : look_ms > 1000 ? 1000 : look_ms;
    while (!why) {
        struct pollfd readable = {.fd = peer->fd, .events = POLLIN};
        poll(&readable, 1, (int)look_ms);
        ssize_t got = recv(peer->fd, header + received, FRAME_SIZE - received, MSG_DONTWAIT);
        if (got > 0) {
            received += (size_t)got;
            if (received == FRAME_SIZE) {
                received = 0;
                why = take_answer(peer, header);
            }
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            why = got == 0 ? "it has ended the connection" : strerror(errno);
        } else if (is_silent(peer)) {
            why = "it has not answered for --peer-timeout";
        }
    }
    give_up(peer, why);
    return NULL;
}

static int start_peer(struct peer *peer)
{
    lock_init(&peer->lock, LOCK_KIND_MUTEX, LOCK_PEER, peer->number);
    pthread_cond_init(&peer->filled, NULL);
    node_list_init(&peer->to_send);
    peer->fd = tcp_connect(peer->host, peer->port);
    if (peer->fd < 0)
        return log_error("--peer %s:%u: it must run before its primary starts", peer->host,
                         (unsigned)peer->port);
    peer->has_sender = pthread_create(&peer->sender, NULL, send_copies, peer) == 0;
    peer->has_receiver = pthread_create(&peer->receiver, NULL, receive_answers, peer) == 0;
    return peer->has_sender && peer->has_receiver ? 0 : log_error("no threads for a peer");
}

int replication_start(const struct daemon_options *options, struct finisher *finisher)
{
    replication.finisher = finisher;
    replication.timeout_ns = options->peer_timeout_ns;
    for (unsigned i = 0; i < replication.count; i++) {
        if (start_peer(&replication.peers[i]) != 0)
            return -1;
    }
    return 0;
}

void replication_stop(void)
{
    for (unsigned i = 0; i < replication.count; i++) {
        struct peer *peer = &replication.peers[i];
        if (peer->fd < 0)
            continue;
        lock_take(&peer->lock);
        peer->stopping = true;
        if (!peer->has_receiver) /* else it is the receiver that ends the sender */
            peer->gone = true;
        pthread_cond_signal(&peer->filled);
        lock_give(&peer->lock);
        shutdown(peer->fd, SHUT_RDWR);
        if (peer->has_receiver)
            pthread_join(peer->receiver, NULL);
        if (peer->has_sender)
            pthread_join(peer->sender, NULL);
        close(peer->fd);
        peer->fd = -1;
    }
}
