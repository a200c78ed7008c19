/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_WAITS_BPF_H
#define OPTRAIL_LOCK_WAITS_BPF_H

/*
 * A wait, from its begin to its record: a thread goes to sleep in a futex call, another one wakes
 * it from a futex call of its own, it is put on a CPU again. What is written here runs in the
 * scheduler, with interrupts off: short, and without faults.
 */

/* A thread that finds the lock taken again sleeps for it again at once: it runs for two
 * microseconds or so in between, and tens of them when it is interrupted there. Whoever had the
 * lock meanwhile, and woke nobody when it gave it back, has other registers as a rule, or slept, or
 * ran for longer. For one of whom nothing of that is true, this much is too long a wait. */
#define RETRY_NS 50000

static __always_inline bool in_futex(const struct pt_regs *registers)
{
    return registers->orig_ax == NR_FUTEX;
}

static __always_inline bool is_lock_pi(__u32 command)
{
    return command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

static __always_inline bool is_wait(__u32 command)
{
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || is_lock_pi(command);
}

static __always_inline bool is_wake(__u32 command)
{
    return command == FUTEX_WAKE || command == FUTEX_WAKE_OP || command == FUTEX_WAKE_BITSET ||
           command == FUTEX_UNLOCK_PI || command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE;
}

/* It waits for the lock, so it does not have it. */
static __always_inline void forget_lock(struct lock_thread *thread, __u64 lock)
{
#pragma unroll
    for (int i = 0; i < LOCK_HAD; i++)
        if (thread->had_lock[i] == lock)
            thread->had_lock[i] = 0;
}

/* Of the registers that are not the call's own. */
static __always_inline __u64 hash_registers(const struct pt_regs *registers)
{
    const __u64 prime = 0x9e3779b97f4a7c15ull;
    __u64 hash = registers->sp ^ registers->ip;
    hash = (hash ^ registers->bx) * prime;
    hash = (hash ^ registers->bp) * prime;
    hash = (hash ^ registers->r12) * prime;
    hash = (hash ^ registers->r13) * prime;
    hash = (hash ^ registers->r14) * prime;
    return (hash ^ registers->r15) * prime;
}

/* Whether this sleep goes on with the wait that the thread was in last; keeps what tells of the
 * next one. */
static __always_inline bool goes_on(struct lock_thread *thread, struct task_struct *task,
                                    const struct pt_regs *registers)
{
    __u64 ran = task->se.sum_exec_runtime, sleeps = task->nvcsw, hash = hash_registers(registers);
    bool same = thread->last_word == registers->di && thread->last_registers == hash &&
                ran - thread->last_ran_ns < RETRY_NS && sleeps - thread->last_sleeps == 1;
    thread->last_ran_ns = ran;
    thread->last_sleeps = sleeps;
    thread->last_registers = hash;
    return same && wakes_when_released(thread->kind);
}

/* Which wait it is that the current thread's registers show; into its row, for the verifier then
 * takes what is done with it as one case and not as one for each kind. False: it is not to be told.
 * `weight`: of one that was chosen already, by its arguments. */
static __noinline bool describe_wait(struct lock_thread *thread, __u32 weight)
{
    const struct pt_regs *registers =
        (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
    __u64 uaddr = registers->di;
    __u32 op = registers->si, value = registers->dx;
    struct wait_facts facts = {.lock = uaddr};
    __u16 flags = 0;
    bool shared;
    __u32 class = site_class(thread, registers->ip, registers->sp, &shared);
    if (class == LOCK_SITE_CONDVAR && shared) {
        if (!weight && !(weight = choose_idle()))
            return false;
        flags |= LOCK_RECORD_IDLE;
    }
    __u32 words[WORDS];
    if (bpf_probe_read_user(words, sizeof(words), (void *)uaddr)) {
        /* the word alone may still be there */
        __builtin_memset(words, 0, sizeof(words));
        if (bpf_probe_read_user(words, sizeof(words[0]), (void *)uaddr)) {
            count(LOCK_FAULTS_WORD);
            return false;
        }
    }
    find_facts(&facts, class, shared, words, op, value);
    /* a lock that was given back since: its wake is on the way, and whose it is now is not known */
    if (!is_lock_pi(op & FUTEX_COMMAND) && words[0] != value)
        facts.owner = 0;
    if (facts.owned && !facts.owner)
        flags |= LOCK_RECORD_OWNERLESS;
    thread->word = uaddr;
    thread->waits_for = facts.lock;
    thread->value = value;
    thread->owner = facts.owner;
    thread->kind = (__u16)facts.kind;
    thread->flags = flags;
    thread->weight = weight ? weight : 1;
    return true;
}

/* The lock was being given back when the waiter fell asleep, and its word no longer told by whom:
 * by the one whose wake it is. `waker`: as the process names it. */
static __always_inline void had_by(struct lock_thread *waiter, __u32 waker)
{
    if (waiter->flags & LOCK_RECORD_OWNERLESS && wakes_when_released(waiter->kind)) {
        waiter->owner = waker;
        waiter->flags &= ~LOCK_RECORD_OWNERLESS;
    }
}

/* Somebody comes for a lock that its owner had waited for, when nobody else did. Is it still the
 * same turn? It is if the owner has not been in the kernel since that wait: who has waited for a
 * mutex gives it back by a call, whether anybody waits or not. If it has, nobody can tell. */
static __always_inline void look_at_turn(struct lock_thread *owner, __u64 lock, __u64 word)
{
    struct {
        __u64 si, di, orig_ax; /* as they lie in the kernel's pt_regs */
    } call;
#pragma unroll
    for (int i = 0; i < LOCK_HAD; i++) {
        if (owner->had_lock[i] != lock || owner->had_seen[i])
            continue;
        if (bpf_probe_read_kernel(&call, sizeof(call),
                                  (const char *)owner->registers_at +
                                      __builtin_offsetof(struct pt_regs, si)) == 0 &&
            call.orig_ax == NR_FUTEX && call.di == word && is_wait(call.si & FUTEX_COMMAND))
            owner->had_seen[i] = 1;
        else
            owner->had_lock[i] = 0;
    }
}

/* The current thread goes to sleep in a futex call. The kernel has queued it already: what takes
 * time here does not keep it from the lock, as it would on the way into the call. */
static __always_inline void begin_wait(struct task_struct *task, const struct pt_regs *registers,
                                       __u32 tgid, __u64 key)
{
    __u32 command = (__u32)registers->si & FUTEX_COMMAND, weight = 0;
    if (!is_wait(command))
        return;
    __u32 process = process_of_current(tgid);
    if (process >= LOCK_MAX_PROCESSES)
        return;
    struct lock_thread *thread = draining ? find_thread(key) : NULL;
    __u64 word = registers->di;
    if (draining && (!thread || thread->last_word != word))
        return;
    /* before anything that takes time */
    if (command == FUTEX_WAIT_BITSET && (__u32)registers->dx == 0 && !(weight = choose_idle()))
        return;
    __u64 now = bpf_ktime_get_ns();
    thread = thread_row(key, process, true);
    if (!thread || !describe_wait(thread, weight))
        return;
    if (goes_on(thread, task, registers)) {
        thread->flags |= LOCK_RECORD_CONTINUES;
    } else if (draining) {
        thread->last_word = 0; /* what goes on with this one is not told either */
        return;
    } else {
        thread->acquisition++;
    }
    thread->begin_ns = now;
    thread->counter = registers->ip;
    thread->registers_at = (__u64)registers;
    thread->timed = registers->r10 != 0;
    thread->woken = 0;
    thread->wake_ns = 0;
    thread->holder_stack = 0;
    thread->settled = 0;
    thread->chain_lock = 0;
    thread->owner_key = 0;
    thread->stack = take_stacks ? stack_number(thread, word, false) : 0;
    forget_lock(thread, thread->waits_for);
    thread->followed = follow_owners && is_followed(thread->kind);
    if (thread->followed) {
        struct lock_thread *owner =
            thread->owner ? watch(thread, (__u64)tgid << 32 | thread->owner, process, now) : NULL;
        if (owner)
            look_at_turn(owner, thread->waits_for, word);
        count_waiter(word, 1);
    }
    asm volatile("" ::: "memory"); /* who wakes it finds all of it, or nothing */
    thread->lock = thread->waits_for;
    *is_waiting(key) = 1;
    /* somebody was quicker: see come_early() */
    if (task->__state & TASK_WAKING) {
        thread->woken = 1;
        if (thread->early_word == word)
            had_by(thread, thread->early_waker);
    }
    thread->early_word = 0;
}

/* A thread is woken that is not asleep yet: on another CPU it is on its way there. If the current
 * one does that from a futex call, it is the one that had what the thread is about to wait for. */
static __always_inline void come_early(__u64 waiter_key)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (task->flags & PF_KTHREAD || waiter_key >> 32 != task->tgid || !in_futex(registers) ||
        !is_wake((__u32)registers->si & FUTEX_COMMAND))
        return;
    struct lock_thread *waiter = find_thread(waiter_key);
    if (!waiter)
        return;
    waiter->early_waker = (__u32)thread_key(task->tgid, task);
    waiter->early_word = registers->di;
}

/* What the releaser had may be what it gives back: for how long had it been? 0: not known. */
static __always_inline __u64 held_for(struct lock_thread *thread, __u64 uaddr, __u64 now)
{
    __u64 held = 0;
#pragma unroll
    for (int i = 0; i < LOCK_HAD; i++) {
        __u64 above = uaddr - thread->had_lock[i];
        if (thread->had_lock[i] && (above == 0 || above == 8 || above == 12)) {
            held = thread->had_seen[i] ? now - thread->had_ns[i] : 0;
            thread->had_lock[i] = 0;
        }
    }
    return held;
}

/* The current thread, of the same process, gives back what this one waits for. */
static __always_inline void release(struct lock_thread *waiter, struct task_struct *task,
                                    __u32 tgid, __u64 now)
{
    __u64 key = thread_key(tgid, task), word = waiter->word;
    /* those that end short waits are many: the stacks of a part of them are enough */
    bool asks_stack = take_stacks && (now - waiter->begin_ns >= SHORT_WAIT_NS ||
                                      !(bpf_get_prandom_u32() & (SHORT_RELEASES - 1)));
    struct lock_thread *releaser =
        asks_stack ? thread_row(key, waiter->process, true) : find_thread(key);
    waiter->hold_ns = 0;
    waiter->releaser = tid_of_current();
    had_by(waiter, (__u32)key);
    if (waiter->followed)
        settle(waiter, key == waiter->owner_key, now);
    if (releaser) {
        waiter->hold_ns = held_for(releaser, word, now);
        give_back(releaser, word, now);
        if (releaser->last_word == word)
            releaser->last_word = 0;
        if (asks_stack)
            waiter->holder_stack = stack_number(releaser, word, true);
    }
    waiter->wake_ns = now;
}

/* A thread that waits is woken: by a futex call of the current one, or by something else. */
static __always_inline void end_sleep(struct lock_thread *waiter, __u64 waiter_key, __u64 now)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 flags = task->flags, tgid = task->tgid;
    if (waiter->woken || flags & PF_KTHREAD)
        return;
    if (flags & PF_EXITING) {
        /* it is the kernel that gives back what a thread had when it died */
        if (waiter->kind == WAIT_mutex_shared && waiter->value & FUTEX_WAITERS) {
            waiter->flags |= LOCK_RECORD_OWNER_DIED;
            waiter->woken = 1;
        }
        return;
    }
    const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if (!in_futex(registers))
        return;
    __u32 command = (__u32)registers->si & FUTEX_COMMAND;
    if (!is_wake(command))
        return;
    waiter->woken = 1;
    /* of another process, or another word after a requeue: whoever had it, it was not that one */
    if (waiter_key >> 32 == tgid && (registers->di == waiter->word ||
                                     (command == FUTEX_WAKE_OP && registers->r8 == waiter->word)))
        release(waiter, task, tgid, now);
}

/* From now on the thread has the lock. The end of this turn is sure to be seen if it has to wake
 * somebody then, who waits for it already. One that comes later may find the lock in another turn
 * of the same thread, which look_at_turn() tells apart where it can: at locks that are always given
 * back by a call. Of an rwlock, a writer that has slept for other writers is sure to wake; one that
 * slept for readers only is not. */
static __always_inline void remember_lock(struct lock_thread *thread, __u64 now)
{
    bool calls = wakes_when_released(thread->kind), seen = has_waiters(thread->word);
    bool wakes = calls || thread->kind == WAIT_mutex_pi ||
                 (thread->kind == WAIT_rwlock_write && (thread->value & 1));
    if (!wakes || (!calls && !seen))
        return;
#pragma unroll
    for (int i = LOCK_HAD - 1; i > 0; i--) {
        thread->had_lock[i] = thread->had_lock[i - 1];
        thread->had_ns[i] = thread->had_ns[i - 1];
        thread->had_seen[i] = thread->had_seen[i - 1];
    }
    thread->had_lock[0] = thread->lock;
    thread->had_ns[0] = now;
    thread->had_seen[0] = seen;
}

static __always_inline void tell_wait(struct lock_thread *thread, __u64 now, __u32 weight)
{
    struct lock_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
    if (!record) {
        count(LOCK_LOST);
        return;
    }
    record->type = LOCK_RECORD_WAIT;
    record->weight = weight;
    record->begin_ns = thread->begin_ns;
    record->end_ns = now;
    record->lock = thread->lock;
    record->counter = thread->counter;
    record->wake_ns = thread->wake_ns;
    record->hold_ns = thread->wake_ns ? thread->hold_ns : 0;
    record->releaser = thread->wake_ns ? thread->releaser : 0;
    record->chain_lock = thread->chain_lock;
#pragma unroll
    for (int i = 0; i < LOCK_STATES; i++)
        record->meanwhile[i] = thread->settled ? thread->meanwhile[i] : 0;
    record->pid = thread->pid;
    record->tid = thread->tid;
    record->owner = thread->owner;
    record->stack = thread->stack;
    record->holder_stack = thread->holder_stack;
    record->acquisition = thread->acquisition;
    record->kind = thread->kind;
    record->flags = thread->flags;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* The thread that waited is put on a CPU. */
static __always_inline void end_wait(struct lock_thread *thread, struct task_struct *task,
                                     __u64 key, __u64 now)
{
    __u32 weight = weight_of(now - thread->begin_ns);
    *is_waiting(key) = 0;
    if (thread->followed) {
        settle(thread, false, now);
        count_waiter(thread->word, -1);
    }
    thread->last_word = thread->word;
    count(LOCK_WAITS);
    if (thread->woken)
        remember_lock(thread, now);
    else if (task->thread_info.flags & SIGNAL_PENDING)
        thread->flags |= LOCK_RECORD_INTERRUPTED;
    else if (thread->timed)
        thread->flags |= LOCK_RECORD_GAVE_UP;
    if (weight)
        tell_wait(thread, now, weight * thread->weight);
    else
        count(LOCK_SAMPLED_OUT);
    thread->lock = 0;
}

#endif
