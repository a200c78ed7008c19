/* SPDX-License-Identifier: MIT */
#include "journal_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon_log.h"
#include "daemon_stats.h"
#include "journal_format.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the journal is written as memory is");

struct ring_batch {
    struct ring_batch *next;
    uint64_t last_sequence;
    uint64_t end;  /* where it ends in the ring */
    uint64_t used; /* bytes it takes, with those left over before a wrap */
};

#define SUPER_CHECKED (sizeof(struct journal_super) - sizeof(uint32_t))
#define ENTRY_CHECKED (sizeof(struct journal_entry) - sizeof(uint32_t))

static uint64_t padded(uint64_t bytes)
{
    return (bytes + JOURNAL_ALIGN - 1) / JOURNAL_ALIGN * JOURNAL_ALIGN;
}

uint64_t journal_ring_bytes(const struct request *request)
{
    return sizeof(struct journal_entry) + padded(request->frame.length);
}

/* Reads all of it. 0, or a positive errno (EIO when the file ends before). */
static int read_at(int fd, void *buffer, size_t length, uint64_t position)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(fd, (char *)buffer + done, length - done, (off_t)(position + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : EIO;
        done += (size_t)got;
    }
    return 0;
}

static int write_super(struct journal_ring *ring, uint64_t start, uint64_t trimmed)
{
    struct journal_super super = {.magic = JOURNAL_SUPER_MAGIC,
                                  .version = JOURNAL_VERSION,
                                  .generation = ring->generation + 1,
                                  .incarnation = ring->incarnation,
                                  .ring_size = ring->size,
                                  .start = start,
                                  .trimmed = trimmed,
                                  .placement_groups = ring->placement_groups};
    super.crc = frame_crc(&super, SUPER_CHECKED);
    off_t place = (off_t)(super.generation % 2 * JOURNAL_SUPER_SPACE);
    ssize_t written = pwrite(ring->fd, &super, sizeof(super), place);
    if (written != (ssize_t)sizeof(super) || fdatasync(ring->fd) != 0)
        return log_error(
            "the journal's superblock cannot be written: %s",
            strerror(written >= 0 && written < (ssize_t)sizeof(super) ? ENOSPC : errno));
    ring->generation++;
    return 0;
}

/* The valid superblock of the higher generation. false: there is none. */
static bool read_super(int fd, struct journal_super *super)
{
    bool found = false;
    for (uint64_t place = 0; place < 2; place++) {
        struct journal_super one;
        if (read_at(fd, &one, sizeof(one), place * JOURNAL_SUPER_SPACE) != 0 ||
            one.magic != JOURNAL_SUPER_MAGIC || one.crc != frame_crc(&one, SUPER_CHECKED))
            continue;
        if (!found || one.generation > super->generation)
            *super = one;
        found = true;
    }
    return found;
}

enum entry_state { ENTRY_NONE, ENTRY_TORN, ENTRY_VALID };

/* Looks for the entry of a sequence at a place of the ring; a valid one's payload is in *payload,
 * which the caller frees. */
static enum entry_state read_entry(const struct journal_ring *ring, uint64_t place,
                                   uint64_t sequence, struct journal_entry *entry,
                                   unsigned char **payload)
{
    *payload = NULL;
    if (place + sizeof(*entry) > ring->size ||
        read_at(ring->fd, entry, sizeof(*entry), JOURNAL_RING_BEGIN + place) != 0 ||
        entry->magic != JOURNAL_ENTRY_MAGIC || entry->sequence != sequence ||
        entry->incarnation != ring->incarnation)
        return ENTRY_NONE;
    if (entry->crc != frame_crc(entry, ENTRY_CHECKED) || entry->length > FRAME_MAX_LENGTH ||
        place + sizeof(*entry) + padded(entry->length) > ring->size)
        return ENTRY_TORN;
    *payload = malloc(entry->length ? entry->length : 1);
    if (*payload &&
        read_at(ring->fd, *payload, entry->length, JOURNAL_RING_BEGIN + place + sizeof(*entry)) ==
            0 &&
        frame_crc(*payload, entry->length) == entry->payload_crc)
        return ENTRY_VALID;
    bool memory = *payload != NULL;
    free(*payload);
    *payload = NULL;
    return memory ? ENTRY_TORN : ENTRY_NONE;
}

static int replay_all(struct journal_ring *ring, uint64_t start, journal_replay *replay,
                      void *context)
{
    uint64_t place = start;
    for (;;) {
        struct journal_entry entry;
        unsigned char *payload;
        uint64_t sequence = ring->trimmed + 1;
        enum entry_state state = read_entry(ring, place, sequence, &entry, &payload);
        if (state == ENTRY_NONE && place != 0) {
            place = 0;
            state = read_entry(ring, place, sequence, &entry, &payload);
        }
        if (state == ENTRY_TORN) {
            /* it was being written when the daemon died: nobody was told that it is safe */
            stats_add(journal_torn, 1);
            log_error("the journal's last entry (%" PRIu64 ") is torn and left out", sequence);
        }
        if (state != ENTRY_VALID)
            return 0;
        int error = replay(context, entry.object, entry.offset, payload, entry.length);
        free(payload);
        if (error)
            return log_error("the journaled write %" PRIu64 " cannot be applied: %s%s", sequence,
                             strerror(error),
                             error == ENOSPC ? "; make room on the disk and start again" : "");
        stats_add(journal_replayed, 1);
        ring->trimmed = sequence;
        place += sizeof(entry) + padded(entry.length);
    }
}

static int open_existing(struct journal_ring *ring, const char *path, uint32_t placement_groups,
                         journal_replay *replay, void *context)
{
    struct journal_super super;
    if (!read_super(ring->fd, &super))
        return log_error("%s is no journal, or both its superblocks are damaged", path);
    if (super.version != JOURNAL_VERSION)
        return log_error("%s has version %u; this daemon knows %u", path, super.version,
                         JOURNAL_VERSION);
    if (super.placement_groups != placement_groups)
        return log_error("this store was made with --placement-groups %u; say so",
                         super.placement_groups);
    ring->size = super.ring_size;
    ring->generation = super.generation;
    ring->incarnation = super.incarnation;
    ring->trimmed = super.trimmed;
    return replay_all(ring, super.start, replay, context);
}

static int create(struct journal_ring *ring, const char *path, uint64_t size)
{
    int error = posix_fallocate(ring->fd, 0, (off_t)size);
    if (error) {
        log_error("%s: no room for a journal of %" PRIu64 " bytes: %s; choose a smaller "
                  "--journal-size",
                  path, size, strerror(error));
        unlink(path);
        return -1;
    }
    ring->size = (size - JOURNAL_RING_BEGIN) / JOURNAL_ALIGN * JOURNAL_ALIGN;
    return write_super(ring, 0, 0);
}

int journal_ring_open(struct journal_ring *ring, const char *path, uint64_t size,
                      uint32_t placement_groups, journal_replay *replay, void *context)
{
    *ring = (struct journal_ring){.placement_groups = placement_groups};
    ring->newest_link = &ring->oldest;
    lock_init(&ring->lock, LOCK_KIND_MUTEX, LOCK_JOURNAL_RING, 0);
    pthread_cond_init(&ring->room, NULL);
    ring->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (ring->fd < 0)
        return log_error("cannot open %s: %s", path, strerror(errno));
    struct stat status;
    if (flock(ring->fd, LOCK_EX | LOCK_NB) != 0)
        return log_error("%s is in use: does another daemon run on this directory?", path);
    if (fstat(ring->fd, &status) != 0)
        return log_error("cannot look at %s: %s", path, strerror(errno));
    struct journal_super super;
    /* a daemon that died while it made the journal has left one without a superblock: nothing was
     * ever written to it */
    if (status.st_size == 0 || !read_super(ring->fd, &super)) {
        unsigned char start[JOURNAL_RING_BEGIN] = {0}, zeros[JOURNAL_RING_BEGIN] = {0};
        if (status.st_size >= JOURNAL_RING_BEGIN &&
            (read_at(ring->fd, start, sizeof(start), 0) != 0 ||
             memcmp(start, zeros, sizeof(start)) != 0))
            return log_error("%s is no journal, or both its superblocks are damaged", path);
        return create(ring, path, size);
    }
    return open_existing(ring, path, placement_groups, replay, context);
}

int journal_ring_begin(struct journal_ring *ring)
{
    ring->incarnation++;
    return write_super(ring, 0, ring->trimmed);
}

/* Bytes that are lost when a batch of this size does not fit before the ring's end. */
static uint64_t left_over(const struct journal_ring *ring, uint64_t bytes)
{
    return ring->end + bytes > ring->size ? ring->size - ring->end : 0;
}

bool journal_ring_wait_room(struct journal_ring *ring, uint64_t bytes)
{
    lock_take(&ring->lock);
    while (!ring->stopped && ring->used && ring->used + left_over(ring, bytes) + bytes > ring->size)
        lock_wait_room(&ring->lock, &ring->room);
    bool room = !ring->stopped;
    lock_give(&ring->lock);
    return room;
}

static int write_parts(int fd, struct iovec *parts, unsigned count, uint64_t position)
{
    while (count) {
        ssize_t written = pwritev(fd, parts, (int)count, (off_t)position);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        position += (uint64_t)written;
        while (count && (size_t)written >= parts->iov_len) {
            written -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
    return fdatasync(fd) == 0 ? 0 : errno;
}

int journal_ring_write(struct journal_ring *ring, struct request *const *batch, unsigned count)
{
    static unsigned char zeros[JOURNAL_ALIGN];
    struct journal_entry entries[JOURNAL_BATCH_MAX];
    struct iovec parts[3 * JOURNAL_BATCH_MAX];
    unsigned part_count = 0;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct frame *frame = &batch[i]->frame;
        entries[i] = (struct journal_entry){.magic = JOURNAL_ENTRY_MAGIC,
                                            .length = frame->length,
                                            .incarnation = ring->incarnation,
                                            .sequence = batch[i]->sequence,
                                            .object = frame->object,
                                            .offset = frame->offset,
                                            .payload_crc = frame->payload_crc};
        entries[i].crc = frame_crc(&entries[i], ENTRY_CHECKED);
        parts[part_count++] = (struct iovec){&entries[i], sizeof(entries[i])};
        parts[part_count++] = (struct iovec){batch[i]->payload, frame->length};
        if (padded(frame->length) > frame->length)
            parts[part_count++] = (struct iovec){zeros, padded(frame->length) - frame->length};
        bytes += journal_ring_bytes(batch[i]);
    }
    struct ring_batch *record = malloc(sizeof(*record));
    if (!record)
        return ENOMEM;
    lock_take(&ring->lock);
    if (!ring->used)
        ring->end = 0;
    uint64_t lost = left_over(ring, bytes);
    uint64_t place = lost ? 0 : ring->end;
    ring->end = place + bytes;
    ring->used += lost + bytes;
    *record = (struct ring_batch){
        .last_sequence = batch[count - 1]->sequence, .end = ring->end, .used = lost + bytes};
    *ring->newest_link = record;
    ring->newest_link = &record->next;
    lock_give(&ring->lock);
    stats_add(journal_batches, 1);
    return write_parts(ring->fd, parts, part_count, JOURNAL_RING_BEGIN + place);
}

bool journal_ring_is_filling(struct journal_ring *ring)
{
    lock_take(&ring->lock);
    bool filling = ring->used > ring->size / 4;
    lock_give(&ring->lock);
    return filling;
}

int journal_ring_trim(struct journal_ring *ring, uint64_t sequence)
{
    /* only this thread takes batches off the list: what it sees stays */
    lock_take(&ring->lock);
    uint64_t used = 0;
    const struct ring_batch *last = NULL;
    for (const struct ring_batch *b = ring->oldest; b && b->last_sequence <= sequence;
         b = b->next) {
        used += b->used;
        last = b;
    }
    lock_give(&ring->lock);
    if (!last)
        return 0;
    if (write_super(ring, last->end, last->last_sequence) != 0)
        return -1;
    lock_take(&ring->lock);
    while (used && ring->oldest) {
        struct ring_batch *batch = ring->oldest;
        used -= batch->used;
        ring->used -= batch->used;
        ring->trimmed = batch->last_sequence;
        ring->oldest = batch->next;
        if (!ring->oldest)
            ring->newest_link = &ring->oldest;
        free(batch);
    }
    pthread_cond_broadcast(&ring->room);
    lock_give(&ring->lock);
    stats_add(journal_trims, 1);
    return 0;
}

void journal_ring_stop(struct journal_ring *ring)
{
    lock_take(&ring->lock);
    ring->stopped = true;
    pthread_cond_broadcast(&ring->room);
    lock_give(&ring->lock);
}

void journal_ring_close(struct journal_ring *ring)
{
    while (ring->oldest) {
        struct ring_batch *next = ring->oldest->next;
        free(ring->oldest);
        ring->oldest = next;
    }
    if (ring->fd >= 0)
        close(ring->fd);
    pthread_cond_destroy(&ring->room);
    lock_destroy(&ring->lock);
}
