/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto, gzipped. Written by hand: the few kinds of fields that it needs are less
 * code than a library's interface. Field numbers are those of profile.proto.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "err.h"
#include "flame_out.h"
#include "flame_render.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
};

/* A message that is being put together. */
struct message {
    unsigned char *bytes; /* owned */
    size_t used, size;
    bool failed; /* no memory */
};

struct pprof {
    const struct flame_tree *tree;
    z_stream zip;
    FILE *out;
    struct message one;  /* of the profile's fields */
    struct message part; /* within it */
    int64_t strings;
    int error;
};

static void put_byte(struct message *message, unsigned char byte)
{
    if (message->used == message->size) {
        size_t size = message->size ? 2 * message->size : 256;
        unsigned char *bytes = realloc(message->bytes, size);
        if (!bytes) {
            message->failed = true;
            return;
        }
        message->bytes = bytes;
        message->size = size;
    }
    message->bytes[message->used++] = byte;
}

static void put_varint(struct message *message, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(message, (unsigned char)(value | 0x80));
    put_byte(message, (unsigned char)value);
}

static void put_number(struct message *message, unsigned field, uint64_t value)
{
    put_varint(message, field << 3);
    put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned field, const void *bytes, size_t size)
{
    put_varint(message, field << 3 | 2);
    put_varint(message, size);
    for (size_t i = 0; i < size; i++)
        put_byte(message, ((const unsigned char *)bytes)[i]);
}

static void compress_some(struct pprof *pprof, const void *bytes, size_t size, int flush)
{
    unsigned char zipped[16384];
    pprof->zip.next_in = (Bytef *)(uintptr_t)bytes;
    pprof->zip.avail_in = (uInt)size;
    do {
        pprof->zip.next_out = zipped;
        pprof->zip.avail_out = sizeof(zipped);
        if (deflate(&pprof->zip, flush) == Z_STREAM_ERROR) {
            pprof->error = err_set(EIO, "zlib fails to compress");
            return;
        }
        fwrite(zipped, 1, sizeof(zipped) - pprof->zip.avail_out, pprof->out);
    } while (pprof->zip.avail_out == 0);
}

/* A field of the profile: its key, its length, and what was put together. */
static void write_field(struct pprof *pprof, unsigned field, const void *bytes, size_t size)
{
    struct message *head = &pprof->part;
    head->used = 0;
    put_varint(head, field << 3 | 2);
    put_varint(head, size);
    compress_some(pprof, head->bytes, head->used, Z_NO_FLUSH);
    if (size > 0)
        compress_some(pprof, bytes, size, Z_NO_FLUSH);
}

static void write_message(struct pprof *pprof, unsigned field)
{
    write_field(pprof, field, pprof->one.bytes, pprof->one.used);
    pprof->one.used = 0;
}

static int64_t add_string(struct pprof *pprof, const char *text)
{
    char room[4096];
    char *sound = flame_out_utf8(text, room, sizeof(room));
    write_field(pprof, PROFILE_STRING, sound, strlen(sound));
    if (sound != room)
        free(sound);
    return pprof->strings++;
}

static void write_sample_type(struct pprof *pprof, const char *type, const char *unit)
{
    int64_t type_string = add_string(pprof, type);
    put_number(&pprof->one, VALUE_TYPE_TYPE, (uint64_t)type_string);
    put_number(&pprof->one, VALUE_TYPE_UNIT, (uint64_t)add_string(pprof, unit));
    write_message(pprof, PROFILE_SAMPLE_TYPE);
}

/* Counts, and where time was measured the time too, of each side. */
static void write_sample_types(struct pprof *pprof)
{
    const struct flame_tree *tree = pprof->tree;
    add_string(pprof, ""); /* the first string must be it */
    for (unsigned side = 0; side < tree->sides; side++) {
        char name[128];
        const char *which = tree->side_names[side], *parted = *which ? "_" : "";
        snprintf(name, sizeof(name), "%s%s%.64s", tree->counted, parted, which);
        write_sample_type(pprof, name, "count");
        snprintf(name, sizeof(name), "time%s%.64s", parted, which);
        if (tree->unit == FLAME_NS)
            write_sample_type(pprof, name, "nanoseconds");
    }
}

/* One function and one location for each name; both have the name's number plus one as id. */
static void write_functions(struct pprof *pprof, bool *known)
{
    const struct flame_tree *tree = pprof->tree;
    for (size_t i = 1; i < tree->node_count; i++) {
        uint32_t name = tree->nodes[i].name;
        if (known[name])
            continue;
        known[name] = true;
        uint64_t string = (uint64_t)add_string(pprof, flame_name_text(&tree->names, name));
        put_number(&pprof->one, FUNCTION_ID, name + 1ull);
        put_number(&pprof->one, FUNCTION_NAME, string);
        put_number(&pprof->one, FUNCTION_SYSTEM_NAME, string);
        write_message(pprof, PROFILE_FUNCTION);
        put_number(&pprof->one, LOCATION_ID, name + 1ull);
        pprof->part.used = 0;
        put_number(&pprof->part, LINE_FUNCTION, name + 1ull);
        put_bytes(&pprof->one, LOCATION_LINE, pprof->part.bytes, pprof->part.used);
        write_message(pprof, PROFILE_LOCATION);
    }
}

static void write_sample(struct pprof *pprof, const struct flame_node *node)
{
    const struct flame_tree *tree = pprof->tree;
    const struct flame_node *leaf = node;
    pprof->part.used = 0;
    for (; node->depth > 0; node = &tree->nodes[node->parent]) /* the innermost first */
        put_varint(&pprof->part, node->name + 1ull);
    put_bytes(&pprof->one, SAMPLE_LOCATION, pprof->part.bytes, pprof->part.used);
    pprof->part.used = 0;
    for (unsigned side = 0; side < tree->sides; side++) {
        put_varint(&pprof->part, leaf->self[side].count);
        if (tree->unit == FLAME_NS)
            put_varint(&pprof->part, leaf->self[side].value);
    }
    put_bytes(&pprof->one, SAMPLE_VALUE, pprof->part.bytes, pprof->part.used);
    write_message(pprof, PROFILE_SAMPLE);
}

static void write_profile(struct pprof *pprof, bool *known)
{
    const struct flame_tree *tree = pprof->tree;
    write_sample_types(pprof);
    write_functions(pprof, known);
    for (uint32_t i = 0; (i = flame_tree_next(tree, i, true)) != 0 && !pprof->one.failed;) {
        const struct flame_node *node = &tree->nodes[i];
        if (node->self[0].count > 0 || node->self[1].count > 0)
            write_sample(pprof, node);
    }
    // NOLINTBEGIN(clang-analyzer-unix.Malloc): the caller frees what the parts hold
    for (size_t i = 0; i < tree->note_count; i++) {
        uint64_t string = (uint64_t)add_string(pprof, tree->notes[i]);
        pprof->part.used = 0;
        put_number(&pprof->part, PROFILE_COMMENT, string);
        compress_some(pprof, pprof->part.bytes, pprof->part.used, Z_NO_FLUSH);
    }
    if (tree->unit == FLAME_NS) {
        pprof->part.used = 0;
        put_number(&pprof->part, PROFILE_DEFAULT_SAMPLE_TYPE, 3); /* the string of the time */
        compress_some(pprof, pprof->part.bytes, pprof->part.used, Z_NO_FLUSH);
    }
    compress_some(pprof, "", 0, Z_FINISH);
    // NOLINTEND(clang-analyzer-unix.Malloc)
}

int flame_render_pprof(const struct flame_tree *tree, FILE *out)
{
    struct pprof pprof = {.tree = tree, .out = out};
    bool *known = calloc(tree->names.count, sizeof(*known));
    if (!known)
        return err_no_memory();
    /* 16: with a gzip header */
    if (deflateInit2(&pprof.zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(known);
        return err_no_memory();
    }
    write_profile(&pprof, known);
    deflateEnd(&pprof.zip);
    if (pprof.error == 0 && (pprof.one.failed || pprof.part.failed))
        pprof.error = err_no_memory();
    free(pprof.one.bytes);
    free(pprof.part.bytes);
    free(known);
    return pprof.error < 0 ? pprof.error : flame_out_check(out);
}
