/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_DAEMON_STATS_H
#define MINISTORE_DAEMON_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include "protocol.h"

/* What the daemon counts: a row a counter, STAT(field, text). */
#define STAT_ROWS(STAT)                                                                            \
    STAT(connections_accepted, "connections taken")                                                \
    STAT(connections_refused, "connections refused: too many, or no memory or thread for them")    \
    STAT(connections_bad_frame, "connections closed: what came was no valid frame")                \
    STAT(connections_cut, "connections cut inside a frame")                                        \
    STAT(connections_slow, "connections closed: a frame or a reply took too long")                 \
    STAT(replies_dropped, "answers whose connection was gone")                                     \
    STAT(journal_batches, "batches written to the journal")                                        \
    STAT(journal_replayed, "journaled writes applied again at the start")                          \
    STAT(journal_torn, "torn entries found at the journal's end at the start")                     \
    STAT(journal_trims, "times the journal was trimmed")                                           \
    STAT(fd_cache_hits, "opens answered by the fd cache")                                          \
    STAT(fd_cache_misses, "opens not answered by the fd cache")                                    \
    STAT(files_synced, "files synced by the writeback throttle")                                   \
    STAT(peers_lost, "peers left out since they were gone or silent")                              \
    STAT(replicas_missed, "copies of writes that a lost peer did not get, or did not confirm")     \
    STAT(replicas_failed, "copies of writes that a peer answered with an error")                   \
    STAT(storm_ops, "ops that took part in an allocator storm")                                    \
    STAT(storm_ns, "time they spent in it, ns")

struct daemon_stats {
    _Atomic uint64_t answered[FRAME_TYPE_END]; /* by type, failed ones included */
    _Atomic uint64_t failed[FRAME_TYPE_END];   /* by type: answered with an error */
#define STAT_FIELD(field, text) _Atomic uint64_t field;
    STAT_ROWS(STAT_FIELD)
#undef STAT_FIELD
};

/* The process has one daemon. */
extern struct daemon_stats stats;

#define stats_add(field, amount)                                                                   \
    ((void)atomic_fetch_add_explicit(&stats.field, (amount), memory_order_relaxed))

/* Writes all counters, those of the locks and the injected delays as one JSON object; the file
 * appears whole (written beside and renamed). 0, or -1 after a message. */
int stats_write(const char *path);

#endif
