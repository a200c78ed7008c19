/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <optrail/probe.h>
#include <stdlib.h>

#include "messenger.h"

#define THROTTLE_LEAST 512

uint32_t request_throttle_amount(const struct frame *frame)
{
    bool moves_bytes = frame->type == FRAME_READ || frame_writes(frame);
    return moves_bytes && frame->length > THROTTLE_LEAST ? frame->length : THROTTLE_LEAST;
}

struct request *request_new(struct connection *connection, const struct frame *frame)
{
    struct request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    OPTRAIL(op_start, request, frame->type, frame->client);
    OPTRAIL(op_identify, request, frame->client, frame->tid);
    atomic_init(&request->references, 1);
    atomic_init(&request->parts, 1);
    request->connection = connection;
    request->frame = *frame;
    return request;
}

void request_put(struct request *request)
{
    if (atomic_fetch_sub_explicit(&request->references, 1, memory_order_acq_rel) != 1)
        return;
    if (request->throttled)
        throttle_give_back(request->throttle, request->throttled);
    connection_put(request->connection);
    free(request->payload);
    free(request->data);
    free(request->replicas);
    OPTRAIL(op_end, request, 0, 0);
    free(request);
}

void request_fail(struct request *request, int error)
{
    request->error = error;
    OPTRAIL(op_failed, request, error, 0);
}
