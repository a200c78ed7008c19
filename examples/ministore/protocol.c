/* SPDX-License-Identifier: MIT */
#include "protocol.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

const char *const frame_type_names[FRAME_TYPE_END] = {[FRAME_READ] = "read",
                                                      [FRAME_WRITE] = "write",
                                                      [FRAME_STAT] = "stat",
                                                      [FRAME_PING] = "ping",
                                                      [FRAME_REPLICATE] = "replicate"};

/* The header as it lies on the wire. */
struct wire {
    uint32_t magic;
    uint16_t version;
    uint16_t type;
    uint64_t client;
    uint64_t tid;
    uint64_t object;
    uint64_t offset;
    uint32_t length;
    uint32_t result;
    uint32_t payload_crc;
    uint32_t route;
    uint32_t reserved;
    uint32_t crc;
};
_Static_assert(sizeof(struct wire) == FRAME_SIZE, "the header has no padding");
#define WIRE_CHECKED (FRAME_SIZE - sizeof(uint32_t))

uint32_t frame_crc(const void *bytes, uint32_t length)
{
    return (uint32_t)crc32(0, bytes, length);
}

void frame_encode(const struct frame *frame, unsigned char bytes[FRAME_SIZE])
{
    struct wire wire = {
        .magic = htole32(FRAME_MAGIC),
        .version = htole16(FRAME_VERSION),
        .type = htole16((uint16_t)(frame->type | (frame->reply ? FRAME_REPLY : 0))),
        .client = htole64(frame->client),
        .tid = htole64(frame->tid),
        .object = htole64(frame->object),
        .offset = htole64(frame->offset),
        .length = htole32(frame->length),
        .result = htole32(frame->result),
        .payload_crc = htole32(frame->payload_crc),
        .route = htole32(frame->route),
    };
    wire.crc = htole32(frame_crc(&wire, WIRE_CHECKED));
    memcpy(bytes, &wire, FRAME_SIZE);
}

const char *frame_decode(const unsigned char bytes[FRAME_SIZE], struct frame *frame)
{
    struct wire wire;
    memcpy(&wire, bytes, FRAME_SIZE);
    if (le32toh(wire.magic) != FRAME_MAGIC)
        return "no frame of ours";
    if (le16toh(wire.version) != FRAME_VERSION)
        return "a version of the protocol that is not known";
    if (le32toh(wire.crc) != frame_crc(&wire, WIRE_CHECKED))
        return "a damaged header";
    uint16_t type = le16toh(wire.type);
    *frame = (struct frame){
        .type = type & (uint16_t)~FRAME_REPLY,
        .reply = (type & FRAME_REPLY) != 0,
        .client = le64toh(wire.client),
        .tid = le64toh(wire.tid),
        .object = le64toh(wire.object),
        .offset = le64toh(wire.offset),
        .length = le32toh(wire.length),
        .result = le32toh(wire.result),
        .payload_crc = le32toh(wire.payload_crc),
        .route = le32toh(wire.route),
    };
    if (frame->type < FRAME_READ || frame->type >= FRAME_TYPE_END)
        return "a type of request that is not known";
    if (frame->length > FRAME_MAX_LENGTH)
        return "a length above 4 MiB";
    return NULL;
}

uint32_t frame_payload(const struct frame *frame)
{
    bool carries = frame->reply ? frame->type == FRAME_READ : frame_writes(frame);
    return carries ? frame->length : 0;
}
