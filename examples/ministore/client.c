/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <errno.h>
#include <optrail/probe.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client_cache.h"
#include "daemon_log.h"
#include "named_lock.h"
#include "protocol.h"
#include "tcp.h"

#define DEPTH_MAX 1024

/* A place for an op in flight. Its tid is round * slots + its number, so a reply finds it. */
struct client_op {
    struct client_op *next_free;
    uint64_t round;
    uint64_t tid;
    uint16_t type;
    bool busy;
    bool traced;      /* the cache's own writes are not the application's ops */
    atomic_bool sent; /* the sender has let go of it */
    uint64_t object;
    uint32_t length;
    client_done *done;
    void *context;
};

struct client {
    struct client_options options;
    int fd;
    pthread_t reader;
    struct named_lock send_lock; /* of the socket's sending side */
    struct named_lock lock;      /* of what follows */
    pthread_cond_t changed;
    struct client_op *free_ops;
    unsigned in_flight;
    bool broken;
    struct client_op *ops;      /* owned, options.depth of them */
    struct client_cache *cache; /* owned; NULL: none */
    unsigned char *buffer;      /* owned, the reader's */
};

/* What the caller wants of an op. */
struct wish {
    uint16_t type;
    bool traced;
    uint64_t object;
    uint32_t length;
    client_done *done;
    void *context;
};

/* Waits for a place. NULL: the connection has broken. */
static struct client_op *take_op(struct client *client, const struct wish *wish)
{
    lock_take(&client->lock);
    while (!client->free_ops && !client->broken)
        lock_wait_room(&client->lock, &client->changed);
    struct client_op *op = client->broken ? NULL : client->free_ops;
    if (op) {
        client->free_ops = op->next_free;
        client->in_flight++;
        op->tid = ++op->round * client->options.depth + (uint64_t)(op - client->ops);
        op->busy = true;
        op->type = wish->type;
        op->traced = wish->traced;
        op->object = wish->object;
        op->length = wish->length;
        op->done = wish->done;
        op->context = wish->context;
        atomic_store(&op->sent, false);
    }
    lock_give(&client->lock);
    return op;
}

static void give_op_back(struct client *client, struct client_op *op)
{
    lock_take(&client->lock);
    op->busy = false;
    op->next_free = client->free_ops;
    client->free_ops = op;
    client->in_flight--;
    pthread_cond_broadcast(&client->changed);
    lock_give(&client->lock);
}

/* Sends the op's request. It completes in the reader, also when the sending fails. */
static void send_op(struct client *client, struct client_op *op, uint64_t offset, const void *data)
{
    uint32_t payload = op->type == FRAME_WRITE ? op->length : 0;
    struct frame frame = {.type = op->type,
                          .client = client->options.client,
                          .tid = op->tid,
                          .object = op->object,
                          .offset = offset,
                          .length = op->length,
                          .payload_crc = payload ? frame_crc(data, payload) : 0};
    unsigned char header[FRAME_SIZE];
    frame_encode(&frame, header);
    struct iovec parts[2] = {{header, FRAME_SIZE}, {(void *)(uintptr_t)data, payload}};
    if (op->traced)
        OPTRAIL(client_send_begin, op, payload, op->tid);
    lock_take(&client->send_lock);
    int error = tcp_send(client->fd, parts, payload ? 2 : 1);
    lock_give(&client->send_lock);
    if (op->traced)
        OPTRAIL(client_send_end, op, payload, op->tid);
    atomic_store_explicit(&op->sent, true, memory_order_release);
    if (error) /* the reader sees the end of the connection and completes what is in flight */
        shutdown(client->fd, SHUT_RDWR);
}

static void complete(struct client *client, struct client_op *op, int error, const void *data,
                     uint32_t length)
{
    op->done(op->context, error, data, length);
    if (op->traced)
        OPTRAIL(client_finish, op, op->type == FRAME_WRITE ? op->length : 0, length);
    give_op_back(client, op);
}

/* -1: the connection has ended. */
static int receive_all(int fd, void *buffer, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = recv(fd, (char *)buffer + done, length - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* The op that a reply belongs to; NULL if there is none. */
static struct client_op *op_of_reply(struct client *client, const struct frame *frame)
{
    struct client_op *op = &client->ops[frame->tid % client->options.depth];
    lock_take(&client->lock);
    bool ours = op->busy && op->tid == frame->tid && op->type == frame->type && frame->reply;
    lock_give(&client->lock);
    return ours ? op : NULL;
}

static int read_reply(struct client *client)
{
    unsigned char header[FRAME_SIZE];
    struct frame frame;
    if (receive_all(client->fd, header, FRAME_SIZE) != 0)
        return -1;
    const char *wrong = frame_decode(header, &frame);
    struct client_op *op = wrong ? NULL : op_of_reply(client, &frame);
    if (!op)
        return log_error("%s came where a reply must stand; the connection is given up",
                         wrong ? wrong : "a reply to no op of ours");
    uint32_t payload = frame_payload(&frame);
    if (receive_all(client->fd, client->buffer, payload) != 0)
        return -1;
    if ((payload ? frame_crc(client->buffer, payload) : 0) != frame.payload_crc)
        return log_error("a reply's payload is damaged; the connection is given up");
    /* the reply may be here before the sender has come back from its system call */
    while (!atomic_load_explicit(&op->sent, memory_order_acquire))
        sched_yield();
    if (op->traced)
        OPTRAIL(client_reply, op, payload, op->tid);
    complete(client, op, (int)frame.result, client->buffer, payload);
    return 0;
}

static void *read_replies(void *argument)
{
    struct client *client = argument;
    while (read_reply(client) == 0)
        ;
    shutdown(client->fd, SHUT_RDWR);
    lock_take(&client->lock);
    client->broken = true;
    pthread_cond_broadcast(&client->changed);
    lock_give(&client->lock);
    for (unsigned i = 0; i < client->options.depth; i++) {
        struct client_op *op = &client->ops[i];
        lock_take(&client->lock);
        bool busy = op->busy;
        lock_give(&client->lock);
        if (!busy)
            continue;
        while (!atomic_load_explicit(&op->sent, memory_order_acquire))
            sched_yield();
        complete(client, op, ECONNRESET, NULL, 0);
    }
    return NULL;
}

/* The cache's own writes. */
static int write_back(struct client *client, uint64_t object, uint64_t offset, const void *data,
                      uint32_t length, client_done *done, void *context)
{
    const struct wish wish = {
        .type = FRAME_WRITE, .object = object, .length = length, .done = done, .context = context};
    struct client_op *op = take_op(client, &wish);
    if (!op)
        return ENOTCONN;
    send_op(client, op, offset, data);
    return 0;
}

static bool is_block(const struct client *client, uint64_t offset, uint32_t length)
{
    return length == client->options.cache_block && offset % client->options.cache_block == 0;
}

int client_write(struct client *client, uint64_t object, uint64_t offset, const void *data,
                 uint32_t length, client_done *done, void *context)
{
    if (client->cache) {
        const char key = 0; /* needs no place, only an address: it is never in flight */
        if (!is_block(client, offset, length))
            return EINVAL;
        OPTRAIL(client_submit, &key, FRAME_WRITE, client->options.client);
        int error = client_cache_write(client->cache, &key, object, offset, data);
        done(context, error, NULL, 0);
        OPTRAIL(client_finish, &key, length, 0);
        return 0;
    }
    const struct wish wish = {.type = FRAME_WRITE,
                              .traced = true,
                              .object = object,
                              .length = length,
                              .done = done,
                              .context = context};
    struct client_op *op = take_op(client, &wish);
    if (!op)
        return ENOTCONN;
    OPTRAIL(client_submit, op, FRAME_WRITE, client->options.client);
    send_op(client, op, offset, data);
    return 0;
}

int client_read(struct client *client, uint64_t object, uint64_t offset, uint32_t length,
                client_done *done, void *context)
{
    if (client->cache && !is_block(client, offset, length))
        return EINVAL;
    const struct wish wish = {.type = FRAME_READ,
                              .traced = true,
                              .object = object,
                              .length = length,
                              .done = done,
                              .context = context};
    struct client_op *op = take_op(client, &wish);
    if (!op)
        return ENOTCONN;
    OPTRAIL(client_submit, op, FRAME_READ, client->options.client);
    unsigned char *block = client->cache ? malloc(length) : NULL;
    if (block && client_cache_read(client->cache, op, object, offset, block)) {
        atomic_store_explicit(&op->sent, true, memory_order_release);
        complete(client, op, 0, block, length);
        free(block);
        return 0;
    }
    free(block);
    send_op(client, op, offset, NULL);
    return 0;
}

int client_flush(struct client *client)
{
    int error = client->cache ? client_cache_flush(client->cache) : 0;
    lock_take(&client->lock);
    while (client->in_flight)
        lock_wait(&client->lock, &client->changed);
    if (!error && client->broken)
        error = ENOTCONN;
    lock_give(&client->lock);
    return error;
}

static void destroy(struct client *client)
{
    if (client->cache)
        client_cache_free(client->cache);
    if (client->fd >= 0)
        close(client->fd);
    pthread_cond_destroy(&client->changed);
    lock_destroy(&client->lock);
    lock_destroy(&client->send_lock);
    free(client->ops);
    free(client->buffer);
    free(client);
}

int client_connect(const struct client_options *options, struct client **out)
{
    if (options->depth < 1 || options->depth > DEPTH_MAX)
        return log_error("the depth must be 1 to %d", DEPTH_MAX);
    struct client *client = calloc(1, sizeof(*client));
    if (!client)
        return log_error("no memory for a client");
    client->options = *options;
    lock_init(&client->send_lock, LOCK_KIND_MUTEX, LOCK_SEND, 0);
    lock_init(&client->lock, LOCK_KIND_MUTEX, LOCK_CLIENT, 0);
    pthread_cond_init(&client->changed, NULL);
    client->ops = calloc(options->depth, sizeof(*client->ops));
    client->buffer = malloc(FRAME_MAX_LENGTH);
    client->fd = client->ops && client->buffer ? tcp_connect(options->host, options->port)
                                               : log_error("no memory for a client");
    if (client->fd < 0) {
        destroy(client);
        return -1;
    }
    for (unsigned i = options->depth; i-- > 0;) {
        client->ops[i].next_free = client->free_ops;
        client->free_ops = &client->ops[i];
    }
    if (options->cache_bytes) {
        client->cache =
            client_cache_new(client, write_back, options->cache_block, options->cache_bytes);
        if (!client->cache) {
            destroy(client);
            return log_error("no memory or thread for the client's cache");
        }
    }
    if (pthread_create(&client->reader, NULL, read_replies, client) != 0) {
        destroy(client);
        return log_error("no thread for reading replies");
    }
    *out = client;
    return 0;
}

void client_close(struct client *client)
{
    shutdown(client->fd, SHUT_RDWR);
    pthread_join(client->reader, NULL);
    destroy(client);
}
