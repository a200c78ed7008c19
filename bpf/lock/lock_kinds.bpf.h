/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_KINDS_BPF_H
#define OPTRAIL_LOCK_KINDS_BPF_H

/*
 * Which kind of wait a futex call is, of which lock, and who has that: from the call site in libc,
 * the call's arguments and the words at the futex, as glibc lays them out.
 */
/* The class of the call site: by its program counter, else by the return address behind it.
 * *shared: by the latter. A thread mostly waits where it waited before. */
static __always_inline __u32 site_class(struct lock_thread *thread, __u64 counter,
                                        __u64 stack_pointer, bool *shared)
{
    struct lock_recent_site *recent = &thread->recent_site;
    __u64 back = 0;
    bool same = recent->counter == counter;
    *shared = false;
    if (same && !recent->shared)
        return recent->class;
    struct lock_site_key key = {.pid = thread->pid, .counter = counter};
    if (!same) {
        struct lock_site *site = bpf_map_lookup_elem(&sites, &key);
        if (!site)
            return LOCK_SITE_NONE;
        recent->counter = counter;
        recent->shared = site->shared;
        recent->frame = site->frame;
        recent->class = site->class;
        recent->back = 0;
        if (!site->shared)
            return site->class;
    }
    *shared = true;
    if (bpf_probe_read_user(&back, sizeof(back), (void *)(stack_pointer + recent->frame)) ||
        recent->back == back)
        return recent->class;
    key.counter = back;
    struct lock_site *caller = bpf_map_lookup_elem(&sites, &key);
    if (!caller)
        return recent->class;
    recent->back = back;
    recent->class = caller->class;
    return caller->class;
}

/* Where the lock begins, whose futex word this is; which kind of wait it is. */
struct wait_facts {
    __u64 lock;
    __u32 kind;
    __u32 owner;
    bool owned; /* by its kind: the word can tell */
};

#define WORDS 7 /* of 4 bytes, from the futex's on */

static __always_inline void mutex_facts(struct wait_facts *facts, const __u32 *words, __u32 op,
                                        __u32 value)
{
    __u32 command = op & FUTEX_COMMAND;
    facts->owned = true;
    facts->owner = words[2];
    if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
        facts->kind = WAIT_mutex_pi;
        facts->owner = words[0] & FUTEX_TID;
    } else if (value & FUTEX_WAITERS) {
        facts->kind = WAIT_mutex_shared;
        facts->owner = value & FUTEX_TID;
    } else if (!(op & FUTEX_PRIVATE_FLAG)) {
        facts->kind = WAIT_mutex_shared;
    } else {
        facts->kind = command == FUTEX_WAIT_BITSET ? WAIT_mutex_timed : WAIT_mutex;
    }
}

/* glibc's pthread_rwlock_t: writers sleep at +12 for each other, everybody at +8 for the phase to
 * change, readers at +0 where writers go first; the writer's thread is at +24. */
static __always_inline void rwlock_facts(struct wait_facts *facts, const __u32 *words, bool write,
                                         __u32 value)
{
    facts->kind = write ? WAIT_rwlock_write : WAIT_rwlock_read;
    facts->owned = true;
    if (write && (value & 1)) {
        facts->lock -= 12;
        facts->owner = words[3];
    } else if (write || value == 3) {
        facts->lock -= 8;
        facts->owner = words[4];
    } else {
        facts->owner = words[6];
    }
}

/* glibc's pthread_cond_t: two groups' words at +40 and +44; its own lock at +32, and the words that
 * its groups are closed with at +16 and +20. */
static __always_inline void condvar_facts(struct wait_facts *facts, bool shared)
{
    bool odd = facts->lock & 4;
    facts->kind = shared ? WAIT_condvar : WAIT_condvar_internal;
    if (shared)
        facts->lock -= odd ? 44 : 40;
}

static __always_inline void find_facts(struct wait_facts *facts, __u32 class, bool shared,
                                       const __u32 *words, __u32 op, __u32 value)
{
    switch (class) {
    case LOCK_SITE_MUTEX:
        /* a mutex that is waited for holds 2, or its owner */
        if ((op & FUTEX_COMMAND) == FUTEX_WAIT && value != 2 && !(value & FUTEX_WAITERS))
            facts->kind = WAIT_condvar_internal;
        else
            mutex_facts(facts, words, op, value);
        return;
    case LOCK_SITE_READ:
    case LOCK_SITE_WRITE:
        rwlock_facts(facts, words, class == LOCK_SITE_WRITE, value);
        return;
    case LOCK_SITE_CONDVAR:
        condvar_facts(facts, shared);
        return;
    case LOCK_SITE_SEMAPHORE:
        facts->kind = WAIT_semaphore;
        return;
    case LOCK_SITE_JOIN:
        facts->kind = WAIT_join;
        return;
    case LOCK_SITE_BARRIER:
        facts->kind = WAIT_barrier;
        return;
    case LOCK_SITE_ONCE:
        facts->kind = WAIT_once;
        return;
    case LOCK_SITE_PRIVATE:
        facts->kind = WAIT_allocator; /* or stdio's: its stack tells the loader */
        return;
    case LOCK_SITE_LIBC:
        facts->kind = WAIT_libc;
        return;
    case LOCK_SITE_SYSCALL:
        facts->kind = WAIT_futex;
        return;
    default:
        facts->kind = WAIT_unknown;
        count(LOCK_UNMATCHED);
        /* a libc that we know nothing of: what it can only be */
        if ((op & FUTEX_COMMAND) == FUTEX_LOCK_PI || (op & FUTEX_COMMAND) == FUTEX_LOCK_PI2 ||
            ((op & FUTEX_COMMAND) == FUTEX_WAIT && (value & FUTEX_WAITERS)))
            mutex_facts(facts, words, op, value);
    }
}

/* Kinds at which a thread that had the lock gives it back by a wake of its own, always: so a second
 * wait without such a wake between goes on with the first. */
static __always_inline bool wakes_when_released(__u32 kind)
{
    return kind == WAIT_mutex || kind == WAIT_mutex_shared || kind == WAIT_mutex_timed ||
           kind == WAIT_allocator || kind == WAIT_libc || kind == WAIT_condvar_internal;
}

/* Kinds at which somebody has what is waited for. The others may be waited at for ever, by a thread
 * that has nothing to do: nobody is watched for their sake. */
static __always_inline bool is_followed(__u32 kind)
{
    return wakes_when_released(kind) || kind == WAIT_mutex_pi || kind == WAIT_rwlock_read ||
           kind == WAIT_rwlock_write || kind == WAIT_once;
}

#endif
