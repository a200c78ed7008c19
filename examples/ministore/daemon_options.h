/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_DAEMON_OPTIONS_H
#define MINISTORE_DAEMON_OPTIONS_H

#include <stdint.h>

/* The choices of options, in the order of their words in daemon_options.c. */
enum messenger_choice { MESSENGER_SIMPLE, MESSENGER_ASYNC };
enum store_choice { STORE_FILESTORE, STORE_MEMSTORE };
enum lock_choice { LOCK_NARROW, LOCK_GLOBAL };
enum sync_choice { SYNC_FSYNC, SYNC_FDATASYNC, SYNC_NONE };
enum ack_choice { ACK_APPLIED, ACK_JOURNALED };
enum switch_choice { SWITCH_OFF, SWITCH_ON };
enum account_choice { ACCOUNT_NONE, ACCOUNT_MUTEX, ACCOUNT_SPIN };

/* What the daemon is told to be. Numbers are 64 bit so that one parser fills them all. */
struct daemon_options {
    uint64_t port;
    const char *data;
    uint64_t store;     /* enum store_choice */
    uint64_t messenger; /* enum messenger_choice */
    uint64_t messenger_workers;
    uint64_t max_connections;
    uint64_t frame_timeout_ns;
    uint64_t message_throttle; /* bytes */
    uint64_t shards;
    uint64_t threads_per_shard;
    uint64_t placement_groups;
    uint64_t apply_threads;
    uint64_t queue_max_ops;
    uint64_t journal_size;     /* bytes */
    uint64_t sync_interval_ns; /* between two trims of the journal */
    uint64_t reserve;          /* bytes of the data disk that are kept free */
    uint64_t fd_cache;
    uint64_t fd_cache_shards;
    uint64_t index_lock; /* enum lock_choice */
    uint64_t memstore_lock;
    uint64_t account_lock;    /* enum account_choice */
    uint64_t allocator_storm; /* rounds of each op */
    uint64_t lock_stats;      /* enum switch_choice */
    uint64_t wbthrottle;      /* enum switch_choice */
    uint64_t wbthrottle_start;
    uint64_t wbthrottle_limit;
    uint64_t sync; /* enum sync_choice */
    uint64_t ack;  /* enum ack_choice */
    uint64_t peer_timeout_ns;
    const char *pid_file;
    const char *stats;
};

/* Fills the options from the command line; injected delays are set on the way. 0 to go on, 1 when
 * help was printed, -1 after a message (wrong use). Texts are the arguments' own memory. */
int daemon_options_parse(struct daemon_options *options, int argc, char **argv);

#endif
