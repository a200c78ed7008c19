/* SPDX-License-Identifier: MIT */
#include "packet_walk.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0xc1fc1fc1u
/* No writer makes such packets: what stands there is no size, but a time or a part of an event. */
#define LARGEST_PACKET (1ull << 32)

/* Where a writer puts what is needed here, in bytes from the packet's beginning. CTF leaves that to
 * the metadata; these two never differ in practice (seen with LTTng-UST 2.13, babeltrace2 2.0.4).
 */
struct layout {
    uint64_t packet_size;
    uint64_t content_size;
    uint64_t header; /* bytes up to the last of the fields above */
};

static const struct layout layouts[PACKET_LAYOUTS] = {
    /* magic, uuid, stream id (32), instance id (64); begin, end, content size, packet size */
    {.packet_size = 56, .content_size = 48, .header = 64},
    /* magic, uuid, stream id (64), instance id (64); packet size, content size */
    {.packet_size = 36, .content_size = 44, .header = 52},
};

static bool read_at(int file, uint64_t offset, void *value, size_t size)
{
    return pread(file, value, size, (off_t)offset) == (ssize_t)size;
}

/* Whether a packet of this layout begins at `offset`; then its length in bytes. */
static bool packet_at(int file, uint64_t offset, const struct layout *layout, uint64_t *bytes)
{
    uint32_t magic;
    uint64_t packet_bits, content_bits;

    if (!read_at(file, offset, &magic, sizeof(magic)) || magic != MAGIC ||
        !read_at(file, offset + layout->packet_size, &packet_bits, sizeof(packet_bits)) ||
        !read_at(file, offset + layout->content_size, &content_bits, sizeof(content_bits)))
        return false;
    *bytes = packet_bits / 8;
    return packet_bits % 8 == 0 && *bytes <= LARGEST_PACKET && content_bits <= packet_bits &&
           content_bits / 8 >= layout->header;
}

/* Whether the packet that begins at `offset` was never closed: its writer was killed. */
static bool open_at(int file, uint64_t offset, const struct layout *layout)
{
    uint32_t magic;
    uint64_t packet_bits, content_bits;

    return read_at(file, offset, &magic, sizeof(magic)) && magic == MAGIC &&
           read_at(file, offset + layout->packet_size, &packet_bits, sizeof(packet_bits)) &&
           read_at(file, offset + layout->content_size, &content_bits, sizeof(content_bits)) &&
           packet_bits == 0 && content_bits == 0;
}

static void walk_with(int file, uint64_t size, const struct layout *layout,
                      struct packet_walk *walk)
{
    uint64_t bytes;

    memset(walk, 0, sizeof(*walk));
    while (walk->whole < size && packet_at(file, walk->whole, layout, &bytes)) {
        if (bytes > size - walk->whole) {
            walk->cut = true;
            walk->size_offset = walk->whole + layout->packet_size;
            walk->content_offset = walk->whole + layout->content_size;
            if (!read_at(file, walk->content_offset, &walk->content_bits,
                         sizeof(walk->content_bits)))
                walk->cut = false;
            return;
        }
        walk->whole += bytes;
    }
    if (walk->whole < size && open_at(file, walk->whole, layout)) {
        walk->open = true;
        walk->size_offset = walk->whole + layout->packet_size;
        walk->content_offset = walk->whole + layout->content_size;
    }
}

/* How far a walk leads; where two end at the same place, the one that knows what is there comes
 * first: a packet that is left open must be found before babeltrace2 is tried. */
static bool leads_further(const struct packet_walk *one, const struct packet_walk *other)
{
    if (one->whole != other->whole)
        return one->whole > other->whole;
    if (one->open != other->open)
        return one->open;
    return one->cut && !other->cut;
}

void packet_walks(int file, uint64_t size, struct packet_walk walks[PACKET_LAYOUTS])
{
    for (size_t i = 0; i < PACKET_LAYOUTS; i++) {
        struct packet_walk walk;
        size_t at = i;
        walk_with(file, size, &layouts[i], &walk);
        for (; at > 0 && leads_further(&walk, &walks[at - 1]); at--)
            walks[at] = walks[at - 1];
        walks[at] = walk;
    }
}
