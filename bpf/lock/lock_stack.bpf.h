/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
#ifndef OPTRAIL_LOCK_STACK_BPF_H
#define OPTRAIL_LOCK_STACK_BPF_H

/*
 * Numbers for call stacks, by a key that is quick to make: how deep the stack is, and the return
 * addresses in its first 512 bytes. Where these lie, user space has found for a stack of this depth
 * at this program counter; where it has not yet, all words that point to code are taken for such.
 * The first time a key is seen, and then once in a while, the stack itself goes up, from the stack
 * pointer to the thread's end of it.
 */
#ifndef MAX_STACKS
#define MAX_STACKS LOCK_MAX_STACKS
#endif
#define STACK_LIMIT  (8u << 20) /* what lies farther away is no end of this stack */
#define AGAIN_EVERY  1024
#define RECENT_HITS  16
#define PAGE_BYTES   4096
#define SMALL_BYTES  4096
#define MEDIUM_BYTES 16384
#define LARGE_BYTES  32768
#define HUGE_BYTES   131072 /* the stacks of some threads hold large buffers */

struct stack_words {
    __u64 words[LOCK_KEY_WORDS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_words);
} stack_words SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MAX_STACKS);
    __type(key, struct lock_layout_key);
    __type(value, struct lock_layouts);
} layouts SEC(".maps");

/* How many bytes there are up to the stack's end: where the thread's own data begin, or, of the
 * main thread, the arguments of main. 0: it is no such stack (a signal's, a coroutine's). */
static __always_inline __u32 stack_depth(struct task_struct *task, __u64 stack_pointer)
{
    __u64 depth = task->thread.fsbase - stack_pointer;
    if (depth < STACK_LIMIT)
        return (__u32)depth;
    struct mm_struct *mm = task->mm;
    depth = mm ? mm->start_stack - stack_pointer : STACK_LIMIT;
    return depth < STACK_LIMIT ? (__u32)depth : 0;
}

/* Of the words that point to code. */
static __always_inline __u64 hash_words(const struct stack_words *from,
                                        const struct lock_process *process)
{
    __u64 begin0 = process->text_begin[0], size0 = process->text_size[0];
    __u64 begin1 = process->text_begin[1], size1 = process->text_size[1], hash = 0;
    /* a short loop: one that is unrolled costs more in cache misses than it saves */
#pragma clang loop unroll_count(4)
    for (__u32 i = 0; i < LOCK_KEY_WORDS; i++) {
        __u64 word = from->words[i];
        if (word - begin0 < size0 || word - begin1 < size1)
            hash = lock_hash_word(hash, word);
    }
    return lock_hash_end(hash);
}

/* Of the return addresses. */
static __always_inline __u64 hash_layout(const struct stack_words *from,
                                         const struct lock_layout *layout)
{
    __u64 hash = 0;
#pragma clang loop unroll(disable)
    for (__u32 i = 0; i < LOCK_LAYOUT_FRAMES; i++) {
        if (i >= layout->count)
            break;
        hash = lock_hash_word(hash, from->words[layout->at[i] & (LOCK_KEY_WORDS - 1)]);
    }
    return lock_hash_end(hash);
}

static __always_inline void take_registers(struct lock_snapshot *snapshot,
                                           const struct pt_regs *registers)
{
    snapshot->registers[0] = registers->ax;
    snapshot->registers[1] = registers->dx;
    snapshot->registers[2] = registers->cx;
    snapshot->registers[3] = registers->bx;
    snapshot->registers[4] = registers->si;
    snapshot->registers[5] = registers->di;
    snapshot->registers[6] = registers->bp;
    snapshot->registers[7] = registers->sp;
    snapshot->registers[8] = registers->r8;
    snapshot->registers[9] = registers->r9;
    snapshot->registers[10] = registers->r10;
    snapshot->registers[11] = registers->r11;
    snapshot->registers[12] = registers->r12;
    snapshot->registers[13] = registers->r13;
    snapshot->registers[14] = registers->r14;
    snapshot->registers[15] = registers->r15;
    snapshot->registers[16] = registers->ip;
}

/* Copies `bytes` of the stack, or fewer where not all can be read. `room`: whole pages. */
#define TAKE_SNAPSHOT(room)                                                                        \
    static __always_inline bool take_##room(const struct pt_regs *registers, __u32 bytes,          \
                                            __u32 depth, __u32 number, __u32 pid)                  \
    {                                                                                              \
        struct lock_snapshot *snapshot =                                                           \
            bpf_ringbuf_reserve(&ring, sizeof(struct lock_snapshot) + (room), 0);                  \
        if (!snapshot) {                                                                           \
            count(LOCK_LOST);                                                                      \
            return false;                                                                          \
        }                                                                                          \
        snapshot->type = LOCK_RECORD_SNAPSHOT;                                                     \
        snapshot->pid = pid;                                                                       \
        snapshot->stack = number;                                                                  \
        snapshot->depth = depth;                                                                   \
        take_registers(snapshot, registers);                                                       \
        copy_stack(snapshot, registers->sp, bytes, (room));                                        \
        bpf_ringbuf_submit(snapshot, BPF_RB_NO_WAKEUP);                                            \
        return true;                                                                               \
    }

/* What stands for a page that cannot be read: no zeros, for who is called from 0 is the first. */
static const volatile __u8 unread[PAGE_BYTES] = {[0 ... PAGE_BYTES - 1] = 0xff};

/* Into the snapshot, which has that much room behind it. A buffer on the stack may have pages that
 * nobody has touched yet, which cannot be read: then it is copied page by page. */
static __always_inline void copy_stack(struct lock_snapshot *snapshot, __u64 from, __u32 bytes,
                                       const __u32 room)
{
    snapshot->skip = 0;
    snapshot->size = 0;
    /* the compiler must not forget the bound, for the verifier wants to see it */
    asm volatile("" : "+r"(bytes));
    if (bytes > room)
        bytes = room;
    if (bpf_probe_read_user(snapshot->bytes, bytes, (void *)from) == 0) {
        snapshot->size = bytes;
        return;
    }
    __u32 skip = from & (PAGE_BYTES - 1);
    from -= skip;
    if (bpf_probe_read_user(snapshot->bytes, PAGE_BYTES, (void *)from)) {
        count(LOCK_FAULTS_STACK);
        return;
    }
    snapshot->skip = skip;
    snapshot->size = bytes < room - skip ? bytes : room - skip;
    for (__u32 at = PAGE_BYTES; at < room; at += PAGE_BYTES) {
        if (at >= skip + bytes)
            break;
        if (bpf_probe_read_user(snapshot->bytes + at, PAGE_BYTES, (void *)(from + at)))
            bpf_probe_read_kernel(snapshot->bytes + at, PAGE_BYTES, (const void *)unread);
    }
}

TAKE_SNAPSHOT(SMALL_BYTES)
TAKE_SNAPSHOT(MEDIUM_BYTES)
TAKE_SNAPSHOT(LARGE_BYTES)
TAKE_SNAPSHOT(HUGE_BYTES)

/* How much of a stack is copied; of one without a known end, what is usual. */
static __always_inline __u32 bytes_of(__u32 depth)
{
    return depth ? depth : MEDIUM_BYTES;
}

/* With what lies before it in its first page: see copy_stack(). */
static __always_inline __u32 room_for(__u64 stack_pointer, __u32 bytes)
{
    return (stack_pointer & (PAGE_BYTES - 1)) + bytes;
}

static __always_inline bool take_snapshot(const struct pt_regs *registers, __u32 depth,
                                          __u32 number, __u32 pid)
{
    __u32 bytes = bytes_of(depth), room = room_for(registers->sp, bytes);
    /* what waits and ticks need comes first: there is always room for them */
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >
        bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2)
        return false;
    if (room <= SMALL_BYTES)
        return take_SMALL_BYTES(registers, bytes, depth, number, pid);
    if (room <= MEDIUM_BYTES)
        return take_MEDIUM_BYTES(registers, bytes, depth, number, pid);
    if (room <= LARGE_BYTES)
        return take_LARGE_BYTES(registers, bytes, depth, number, pid);
    return take_HUGE_BYTES(registers, bytes, depth, number, pid);
}

/* Of a key without a row, one is made. NULL: there is no room. */
static __always_inline struct lock_stack *make_stack(const struct lock_stack_key *key)
{
    struct lock_stack *stack = bpf_map_lookup_elem(&stacks, key), fresh = {};
    if (!stack && stack_count < MAX_STACKS) {
        fresh.number = __sync_fetch_and_add(&stack_count, 1) + 1;
        bpf_map_update_elem(&stacks, key, &fresh, BPF_NOEXIST);
        stack = bpf_map_lookup_elem(&stacks, key);
    }
    if (!stack)
        count(LOCK_STACKS_FULL);
    return stack;
}

/* A stack that is new, or was seen often since, is copied. */
static __always_inline void copy_now(const struct pt_regs *registers, struct lock_stack *stack,
                                     __u32 depth, __u32 pid)
{
    if (__sync_fetch_and_add(&snapshots_left, -1) <= 0) {
        if (!stack->snapshots)
            count(LOCK_STACKS_LATE);
        return;
    }
    stack->seen = 0;
    if (take_snapshot(registers, depth, stack->number, pid)) {
        stack->snapshots++;
        count(LOCK_SNAPSHOTS);
    } else if (!stack->snapshots) {
        count(LOCK_STACKS_LATE);
    }
}

/* The stack's first words, zeros behind its end. False: they cannot be read. */
static __always_inline bool read_words(struct stack_words *words, __u32 depth, __u64 stack_pointer)
{
    __u32 bytes = sizeof(*words);
    if (depth && depth < bytes) {
        /* what is left of the stack before is not of this one */
        bytes = depth & ~7u;
        __builtin_memset(words, 0, sizeof(*words));
    }
    asm volatile("" : "+r"(bytes));
    if (bytes > sizeof(*words))
        bytes = sizeof(*words);
    if (bpf_probe_read_user(words, bytes, (void *)stack_pointer) == 0)
        return true;
    __builtin_memset(words, 0, sizeof(*words));
    return false;
}

/* What the tables say of the current thread's user stack, which has been met `times` times since
 * they were asked last. *layout: the one by which it was found; its hash is returned in *hash. */
static __noinline __u32 find_number(const struct lock_process *process, __u32 times,
                                    struct lock_layout *layout, __u64 *hash)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    __u32 zero = 0, pid = process->pid, depth = stack_depth(task, registers->sp);
    struct lock_stack_key key = {.pid = pid, .depth = depth, .counter = registers->ip};
    struct lock_layout_key site = {.pid = pid, .depth = depth, .counter = registers->ip};
    struct stack_words *words = bpf_map_lookup_elem(&stack_words, &zero);
    struct lock_stack *stack = NULL;
    layout->count = 0;
    if (!words)
        return 0;
    if (read_words(words, depth, registers->sp)) {
        struct lock_layouts *known = bpf_map_lookup_elem(&layouts, &site);
        for (__u32 i = 0; known && !stack && i < LOCK_LAYOUTS; i++) {
            if (!known->rows[i].count)
                break;
            *layout = known->rows[i];
            *hash = key.words = hash_layout(words, layout);
            stack = bpf_map_lookup_elem(&stacks, &key);
        }
        if (!stack)
            key.words = hash_words(words, process);
    }
    if (!stack) {
        layout->count = 0;
        stack = make_stack(&key);
    }
    if (!stack)
        return 0;
    stack->seen += times;
    if (!stack->snapshots || stack->seen >= AGAIN_EVERY)
        copy_now(registers, stack, depth, pid);
    return stack->number;
}

/* The number of the current thread's user stack; 0: none. A thread that is at the same futex as
 * before, from the same place and as deep in the stack, mostly is there in the same way: then its
 * return addresses are the same. One in RECENT_HITS of these is counted in the table. */
static __always_inline __u32 stack_number(struct lock_thread *thread, __u64 word, bool wakes)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
    const struct lock_process *process = &process_facts[thread->process & (LOCK_MAX_PROCESSES - 1)];
    __u64 counter = registers->ip, stack_pointer = registers->sp;
    __u32 zero = 0, times = 1;
    struct lock_recent_stack *recent =
        &thread->recent[wakes << 1 | ((word >> 5 ^ stack_pointer >> 4) & 1)];
    struct stack_words *words = bpf_map_lookup_elem(&stack_words, &zero);
    if (words && recent->layout.count && recent->counter == counter &&
        recent->stack_pointer == stack_pointer && recent->word == word) {
        __u32 last = recent->layout.at[(recent->layout.count - 1) & 15] & (LOCK_KEY_WORDS - 1);
        __u32 bytes = (last + 1) * sizeof(__u64);
        asm volatile("" : "+r"(bytes));
        if (bytes > sizeof(*words))
            bytes = sizeof(*words);
        if (bpf_probe_read_user(words, bytes, (void *)stack_pointer) == 0 &&
            hash_layout(words, &recent->layout) == recent->words) {
            if (++recent->hits % RECENT_HITS)
                return recent->number;
            times = RECENT_HITS;
        }
    }
    recent->counter = counter;
    recent->stack_pointer = stack_pointer;
    recent->word = word;
    recent->hits = 0;
    recent->number = find_number(process, times, &recent->layout, &recent->words);
    return recent->number;
}

#endif
