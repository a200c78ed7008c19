/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_PROTOCOL_H
#define MINISTORE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What goes over the wire: a frame is a header of FRAME_SIZE bytes, little-endian, and for a write
 * or replicate request and a read reply `length` bytes of payload.
 *
 *   0 magic u32 | 4 version u16 | 6 type u16 | 8 client u64 | 16 tid u64 | 24 object u64
 *   32 offset u64 | 40 length u32 | 44 result u32 | 48 payload crc u32 | 52 route u32
 *   56 reserved u32 (0) | 60 crc u32 of the 60 bytes before it
 *
 * The crc is zlib's crc32. A reply repeats the request's type (with FRAME_REPLY), client, tid,
 * route, object and offset; its result is 0 or a positive errno.
 */
#define FRAME_SIZE    64
#define FRAME_MAGIC   0x5254534du /* "MSTR" */
#define FRAME_VERSION 1
#define FRAME_REPLY   0x8000u
/* The most that one op reads or writes. */
#define FRAME_MAX_LENGTH (4u << 20)

/* These numbers are also the `type` of op.start. */
enum frame_type {
    FRAME_READ = 1,
    FRAME_WRITE = 2,
    FRAME_STAT = 3,
    FRAME_PING = 4,
    FRAME_REPLICATE = 5, /* a write that a primary passes on: client and tid are its client's */
    FRAME_TYPE_END
};

/* "read", "write", "stat", "ping", "replicate" */
extern const char *const frame_type_names[FRAME_TYPE_END];

struct frame {
    uint16_t type; /* without FRAME_REPLY */
    uint8_t reply; /* whether FRAME_REPLY is set */
    uint64_t client;
    uint64_t tid;
    uint64_t object;
    uint64_t offset; /* bytes; of a stat's reply: the object's size */
    uint32_t length; /* bytes of payload; of a read request: bytes wanted */
    uint32_t result;
    uint32_t payload_crc; /* 0 without payload */
    uint32_t route;       /* the asker's own mark, to find its request by */
};

/* Whether the request brings bytes for an object. */
static inline bool frame_writes(const struct frame *frame)
{
    return frame->type == FRAME_WRITE || frame->type == FRAME_REPLICATE;
}

void frame_encode(const struct frame *frame, unsigned char bytes[FRAME_SIZE]);

/* Why a header is not one, for the log; NULL when `frame` is filled in. Checks magic, version,
 * crc, type and length. */
const char *frame_decode(const unsigned char bytes[FRAME_SIZE], struct frame *frame);

/* Bytes of payload that follow this header. */
uint32_t frame_payload(const struct frame *frame);

uint32_t frame_crc(const void *bytes, uint32_t length);

#endif
