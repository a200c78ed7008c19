/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_RECORD_H
#define OPTRAIL_LOCK_RECORD_H

/*
 * What lock.bpf.c and its loader agree on. Shared with BPF: vmlinux.h or <stdint.h> and lock_wait.h
 * come before it.
 */

#define LOCK_MAX_PROCESSES 64
#define LOCK_MAX_THREADS   16384
#define LOCK_MAX_STACKS    16384
#define LOCK_MAX_SITES     16384

/* Which of libc's functions a futex call was made from: found by its program counter or, where that
 * lies in a part shared by several, by the return address. */
enum lock_site_class {
    LOCK_SITE_NONE, /* not in the table */
    LOCK_SITE_MUTEX,
    LOCK_SITE_READ,
    LOCK_SITE_WRITE,
    LOCK_SITE_RWLOCK, /* gives one back */
    LOCK_SITE_CONDVAR,
    LOCK_SITE_SEMAPHORE,
    LOCK_SITE_JOIN,
    LOCK_SITE_BARRIER,
    LOCK_SITE_ONCE,
    LOCK_SITE_PRIVATE, /* __lll_lock_wait_private: the allocator, stdio */
    LOCK_SITE_LIBC,    /* another function of libc */
    LOCK_SITE_SYSCALL, /* syscall(2): the program's own */
    LOCK_SITE_CLASSES
};

struct lock_site_key {
    uint32_t pid; /* as user space names it */
    uint32_t unused;
    uint64_t counter; /* behind the syscall instruction, or a return address */
};

struct lock_site {
    uint8_t class;
    uint8_t shared; /* the return address decides */
    uint16_t frame; /* it lies so far above the stack pointer */
};

#define LOCK_TEXT_RANGES 2

/* A process that is watched, by the kernel's number. */
struct lock_process {
    uint32_t pid; /* as user space names it */
    uint32_t unused;
    /* Where its code lies, roughly: what in a stack points there tells stacks apart. */
    uint64_t text_begin[LOCK_TEXT_RANGES];
    uint64_t text_size[LOCK_TEXT_RANGES];
};

/* What a thread was doing. */
enum lock_state {
    LOCK_STATE_UNKNOWN, /* since it is watched it has not begun or ended anything */
    LOCK_STATE_RUNNING,
    LOCK_STATE_RUNNABLE,
    LOCK_STATE_DISK,
    LOCK_STATE_ASLEEP,
    LOCK_STATE_CHAIN, /* waits for a lock itself */
    LOCK_STATES
};
#define LOCK_STATE_ROOM 8 /* a power of two, for the verifier's sake */

#define LOCK_HAD 4 /* locks that a thread waited for and still has, as far as we remember */

/* A stack's first words, of 8 bytes, that tell it from others. */
#define LOCK_KEY_WORDS 64

/* Which of them are return addresses. A frame's size follows from the program counter in it, so
 * that two stacks are the same as far as these go if the words at these places are. */
#define LOCK_LAYOUT_FRAMES 15
struct lock_layout {
    uint8_t count; /* 0: not known */
    uint8_t at[LOCK_LAYOUT_FRAMES];
};

/* The layouts that stacks have been found to have which are so deep at this program counter. */
#define LOCK_LAYOUTS 2
struct lock_layouts {
    struct lock_layout rows[LOCK_LAYOUTS];
};

struct lock_layout_key {
    uint32_t pid; /* as user space names it */
    uint32_t depth;
    uint64_t counter;
};

static inline uint64_t lock_hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15ull;
}

static inline uint64_t lock_hash_end(uint64_t hash)
{
    return hash ^ hash >> 29;
}

/* Call stacks that a thread had last, so that most need no look into the table of stacks. */
#define LOCK_RECENT_STACKS 4 /* two of waits, two of wakes */

struct lock_recent_stack {
    uint64_t counter, stack_pointer;
    uint64_t word;  /* of the futex */
    uint64_t words; /* hash of those that the layout tells of */
    struct lock_layout layout;
    uint32_t number; /* 0: none */
    uint32_t hits;
} __attribute__((aligned(64)));

/* Of the threads whose numbers end alike. */
struct lock_interest {
    uint32_t watched; /* how many wait for something that such a thread has */
    uint8_t waits;    /* whether any is in a wait that is told */
};
#define LOCK_INTEREST 65536

/* A thread, by (kernel's process, thread as the process itself names it): that is what the words of
 * locks hold. Cache lines, in the order of how often they are needed: most of what a wait costs is
 * the way to memory. */
struct lock_thread {
    uint64_t key;  /* process << 32 | thread; 0: the row is free */
    uint64_t lock; /* address of the lock object it waits for; 0: none */
    uint64_t word; /* of the futex, of the wait that is under way, as all up to `hold_ns` */
    uint64_t begin_ns;
    /* what it does, while somebody waits for it */
    int32_t watchers;
    uint32_t state; /* enum lock_state */
    uint64_t since_ns;
    uint32_t pid, tid; /* as user space names them */
    uint16_t kind;
    uint16_t flags;   /* LOCK_RECORD_* */
    uint8_t woken;    /* by a futex call, or by the death of the lock's owner */
    uint8_t settled;  /* `meanwhile` is known */
    uint8_t followed; /* its owner is watched */
    uint8_t timed;    /* it ends by itself */

    uint64_t owner_key; /* of the table of threads; 0: not watched */
    uint32_t owner;     /* as the process names it; 0: unknown */
    uint32_t value;
    uint32_t weight;
    uint32_t acquisition; /* number of it */
    uint32_t stack, holder_stack;
    /* who woke it, and at which word, before it was asleep; 0: nobody */
    uint64_t early_word;
    uint32_t early_waker; /* as the process names it */
    uint32_t releaser;    /* as user space names it */
    /* its release, as the waker's scheduler told it; 0: not yet */
    uint64_t wake_ns;
    uint64_t hold_ns;

    uint64_t waits_for; /* the lock, while the wait is not yet known to others */
    uint64_t counter;
    uint64_t chain_lock;
    uint64_t registers_at; /* where the kernel keeps the thread's user registers */
    /* the wait before: whether the next one goes on with it */
    uint64_t last_word, last_registers;
    uint64_t last_ran_ns, last_sleeps; /* how long, and how often, by then */

    /* when it last gave something back that is waited for */
    uint64_t gave_word, gave_ns;
    uint64_t meanwhile[LOCK_STATES]; /* what its owner did, settled at the wake */

    uint64_t owner_before[LOCK_STATES];
    uint16_t process; /* its number */
    uint16_t unused[7];

    uint64_t spent_ns[LOCK_STATE_ROOM];
    uint64_t spent_until[LOCK_STATE_ROOM]; /* what it had done until it gave that back */

    uint64_t had_lock[LOCK_HAD];
    uint64_t had_ns[LOCK_HAD];

    uint8_t had_seen[LOCK_HAD]; /* its next wake for that lock is the end of this turn */
    /* the call sites of its last waits, and what the table of sites says of them */
    struct lock_recent_site {
        uint64_t counter, back; /* back: the return address, where that decides */
        uint16_t frame;
        uint8_t class;
        uint8_t shared;
        uint32_t unused;
    } recent_site;

    struct lock_recent_stack recent[LOCK_RECENT_STACKS];
} __attribute__((aligned(64)));

enum lock_record_type { LOCK_RECORD_WAIT, LOCK_RECORD_SNAPSHOT, LOCK_RECORD_EXIT };

#define LOCK_RECORD_CONTINUES   1u /* goes on with the acquisition of the record before */
#define LOCK_RECORD_GAVE_UP     2u
#define LOCK_RECORD_OWNER_DIED  4u
#define LOCK_RECORD_INTERRUPTED 8u
#define LOCK_RECORD_OWNERLESS   16u
#define LOCK_RECORD_IDLE        32u /* a condition variable */
#define LOCK_RECORD_UNFINISHED  64u /* the capture ended first; made in user space */

/* A futex wait that has ended. */
struct lock_record {
    uint32_t type; /* enum lock_record_type */
    uint32_t weight;
    uint64_t begin_ns, end_ns;
    uint64_t lock;
    uint64_t counter;
    uint64_t wake_ns, hold_ns;
    uint64_t meanwhile[LOCK_STATES];
    uint64_t chain_lock;
    uint32_t pid, tid;
    uint32_t owner; /* as the process names it */
    uint32_t releaser;
    uint32_t stack, holder_stack;
    uint32_t acquisition;
    uint16_t kind, flags;
};

/* A thread has ended. */
struct lock_exit {
    uint32_t type;
    uint32_t pid;
    uint32_t inner; /* as the process names it */
    uint32_t tid;
    uint64_t time_ns;
};

/* A thread's registers, by DWARF's numbers, and the top of its stack. Pages of it that could not be
 * read have all bits set. */
struct lock_snapshot {
    uint32_t type;
    uint32_t pid;
    uint32_t stack; /* its number */
    uint32_t skip;  /* bytes that lie before the stack pointer */
    uint32_t size;  /* bytes of the stack behind these */
    uint32_t depth; /* as in its key */
    uint64_t registers[17];
    uint8_t bytes[];
};

/* Two stacks with the same key are taken to be the same. */
struct lock_stack_key {
    uint32_t pid;   /* as user space names it */
    uint32_t depth; /* from the stack's other end */
    uint64_t counter;
    uint64_t words; /* hash of its return addresses, or of all words that point to code */
};

struct lock_stack {
    uint32_t number;
    uint32_t snapshots; /* 0: none yet */
    uint64_t seen;      /* since the last one */
};

enum lock_counter {
    LOCK_WAITS,
    LOCK_SAMPLED_OUT,
    LOCK_CONDVAR_IDLE,
    LOCK_LOST,
    LOCK_THREADS_FULL,
    LOCK_STACKS_FULL,
    LOCK_STACKS_LATE,
    LOCK_FAULTS_WORD,
    LOCK_FAULTS_STACK,
    LOCK_UNMATCHED,
    LOCK_SNAPSHOTS,
    LOCK_COUNTERS
};

#endif
