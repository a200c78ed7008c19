/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BYTE_READER_H
#define OPTRAIL_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads numbers from bytes that are not trusted. Beyond the end everything is 0 and `failed` is
 * set, so that a caller checks once, at the end.
 */
struct byte_reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct byte_reader byte_reader(const uint8_t *bytes, size_t size)
{
    return (struct byte_reader){.at = bytes, .end = bytes + size};
}

static inline size_t bytes_left(const struct byte_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static inline void read_bytes(struct byte_reader *reader, void *out, size_t size)
{
    if (size > bytes_left(reader)) {
        reader->failed = true;
        reader->at = reader->end;
        memset(out, 0, size);
        return;
    }
    memcpy(out, reader->at, size);
    reader->at += size;
}

static inline void skip_bytes(struct byte_reader *reader, uint64_t size)
{
    if (size > bytes_left(reader)) {
        reader->failed = true;
        reader->at = reader->end;
        return;
    }
    reader->at += size;
}

static inline uint8_t read_u8(struct byte_reader *reader)
{
    uint8_t value;
    read_bytes(reader, &value, sizeof(value));
    return value;
}

static inline uint16_t read_u16(struct byte_reader *reader)
{
    uint16_t value;
    read_bytes(reader, &value, sizeof(value));
    return value;
}

static inline uint32_t read_u32(struct byte_reader *reader)
{
    uint32_t value;
    read_bytes(reader, &value, sizeof(value));
    return value;
}

static inline uint64_t read_u64(struct byte_reader *reader)
{
    uint64_t value;
    read_bytes(reader, &value, sizeof(value));
    return value;
}

/* LEB128 (DWARF 5, 7.6); bits beyond 64 are lost. */
static inline uint64_t read_uleb(struct byte_reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !reader->failed);
    return value;
}

static inline int64_t read_sleb(struct byte_reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !reader->failed);
    if (shift < 64 && (byte & 0x40))
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

#endif
