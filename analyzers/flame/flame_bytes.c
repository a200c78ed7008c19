/* SPDX-License-Identifier: MIT */
#include "flame_bytes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "err.h"

enum { INPUT_BYTES = 65536, WITH_A_GZIP_HEADER = 16 + MAX_WBITS };

struct flame_bytes {
    int file;
    bool begun, gzipped, at_end, between; /* between: no member is begun */
    bool cut;
    z_stream stream; /* next_in and avail_in: what was read and not used, gzipped or not */
    unsigned char input[INPUT_BYTES];
};

int flame_bytes_open(int file, struct flame_bytes **bytes)
{
    *bytes = calloc(1, sizeof(**bytes));
    if (*bytes && inflateInit2(&(*bytes)->stream, WITH_A_GZIP_HEADER) == Z_OK) {
        (*bytes)->file = file;
        return 0;
    }
    free(*bytes);
    *bytes = NULL;
    close(file);
    return err_no_memory();
}

void flame_bytes_close(struct flame_bytes *bytes)
{
    if (!bytes)
        return;
    inflateEnd(&bytes->stream);
    close(bytes->file);
    free(bytes);
}

/* Puts more behind what is there. Sets at_end. */
static int fill(struct flame_bytes *bytes)
{
    z_stream *stream = &bytes->stream;
    if (stream->avail_in > 0)
        memmove(bytes->input, stream->next_in, stream->avail_in);
    stream->next_in = bytes->input;
    ssize_t got =
        read(bytes->file, bytes->input + stream->avail_in, INPUT_BYTES - stream->avail_in);
    if (got < 0)
        return -errno;
    bytes->at_end = got == 0;
    stream->avail_in += (unsigned)got;
    return 0;
}

/* The first two bytes of a member. Fewer are none. */
static bool is_member(const z_stream *stream)
{
    return stream->avail_in >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b;
}

/* A pipe may hand out a single byte at first. */
static int fill_for_header(struct flame_bytes *bytes)
{
    int result = 0;
    while (result == 0 && !bytes->at_end && bytes->stream.avail_in < 2)
        result = fill(bytes);
    return result;
}

static long copy(struct flame_bytes *bytes, char *to, size_t size)
{
    z_stream *stream = &bytes->stream;
    int result = stream->avail_in == 0 && !bytes->at_end ? fill(bytes) : 0;
    size_t there = stream->avail_in < size ? stream->avail_in : size;
    if (result < 0)
        return result;
    memcpy(to, stream->next_in, there);
    stream->next_in += there;
    stream->avail_in -= (unsigned)there;
    return (long)there;
}

/* Another member, or the end: what follows a member and is none is not looked at, as gzip does. */
static int go_on(struct flame_bytes *bytes)
{
    int result = fill_for_header(bytes);
    if (result == 0 && is_member(&bytes->stream)) {
        inflateReset(&bytes->stream);
        bytes->between = false;
    } else if (result == 0) {
        bytes->stream.avail_in = 0;
        bytes->at_end = true;
    }
    return result;
}

static void end_with_damage(struct flame_bytes *bytes)
{
    bytes->cut = bytes->at_end = bytes->between = true;
    bytes->stream.avail_in = 0;
}

static long inflate_some(struct flame_bytes *bytes, char *to, size_t size)
{
    z_stream *stream = &bytes->stream;
    unsigned room = size < UINT_MAX ? (unsigned)size : UINT_MAX;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = room;
    while (stream->avail_out == room && !(bytes->between && bytes->at_end)) {
        int result = bytes->between ? go_on(bytes) : 0;
        if (result == 0 && !bytes->between && stream->avail_in == 0 && !bytes->at_end)
            result = fill(bytes);
        if (result < 0)
            return result;
        if (bytes->between)
            continue;
        bool nothing_more = bytes->at_end && stream->avail_in == 0;
        int code = inflate(stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END) {
            bytes->between = true;
            bytes->at_end = bytes->at_end && stream->avail_in == 0;
        } else if ((code != Z_OK && code != Z_BUF_ERROR) ||
                   (nothing_more && stream->avail_out == room)) {
            end_with_damage(bytes);
        }
    }
    return (long)(room - stream->avail_out);
}

long flame_bytes_read(struct flame_bytes *bytes, char *to, size_t size)
{
    if (!bytes->begun) {
        int result = fill_for_header(bytes);
        if (result < 0)
            return result;
        bytes->begun = true;
        bytes->gzipped = is_member(&bytes->stream);
    }
    return bytes->gzipped ? inflate_some(bytes, to, size) : copy(bytes, to, size);
}

bool flame_bytes_cut(const struct flame_bytes *bytes)
{
    return bytes->cut;
}
