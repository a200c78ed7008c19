/* SPDX-License-Identifier: MIT */
#include "call_stacks.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#include "loaded_file.h"
#include "wait_recorder.h"

enum {
    FRAMES = 40,   /* of a stack at most, our own among them */
    STACKS = 4096, /* different ones */
    PROBES = 16,
    REMEMBERED = 8, /* by each thread */
};

#define TELL_AGAIN_NS 1000000000ull
/* Larger offsets from the frame are not remembered: such a stack is unwound each time. */
#define NEAR_BYTES UINT32_MAX

/* Written once, by the thread that has claimed it, then read by all. */
struct call_stack {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic bool ready;
    uint8_t depth;
    uint64_t frames[FRAMES]; /* return addresses, the innermost first */
    _Atomic uint64_t told_ns;
};

static struct call_stack stacks[STACKS]; /* number n stands at n - 1 */

/* A stack of this thread: seen from the frame `base`, the return address of frame i lies at
 * base + places[i]. */
struct remembered {
    uintptr_t base;
    uint32_t stack; /* 0: nothing is remembered here */
    uint32_t depth;
    uint32_t places[FRAMES];
};

static __thread struct {
    struct remembered stacks[REMEMBERED];
    unsigned next; /* the one that makes room */
} remembered __attribute__((tls_model("initial-exec")));

static uintptr_t our_begin, our_end;

struct walk {
    uintptr_t base;
    unsigned depth;
    bool steady; /* each return address lies where its frame's caller begins */
    bool cut;
    uint64_t frames[FRAMES];
    uint32_t places[FRAMES];
};

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    uint64_t counter = _Unwind_GetIP(context);
    /* the CFA of the frame inside of this one: its return address lies just below */
    uintptr_t place = _Unwind_GetCFA(context) - sizeof(uintptr_t);

    if (counter == 0)
        return _URC_END_OF_STACK;
    if (place < walk->base) /* the unwinder's own caller */
        return _URC_NO_REASON;
    if (walk->depth == FRAMES) {
        walk->cut = true;
        return _URC_END_OF_STACK;
    }
    if (place - walk->base > NEAR_BYTES || *(const uintptr_t *)place != counter)
        walk->steady = false;
    walk->frames[walk->depth] = counter;
    walk->places[walk->depth++] = (uint32_t)(place - walk->base);
    return _URC_NO_REASON;
}

/* Goes up the stack: what is read next is there because what was read before is unchanged. */
static bool is_unchanged(const struct remembered *one, uintptr_t base)
{
    if (one->base != base || one->stack == 0)
        return false;
    const struct call_stack *stack = &stacks[one->stack - 1];
    for (uint32_t i = 0; i < one->depth; i++)
        if (*(const uintptr_t *)(base + one->places[i]) != stack->frames[i])
            return false;
    return true;
}

/* The number of the stack above this frame, if the thread remembers it; else 0. */
static uint32_t recall(uintptr_t base)
{
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (is_unchanged(&remembered.stacks[i], base))
            return remembered.stacks[i].stack;
    return 0;
}

static void remember(const struct walk *walk, uint32_t number)
{
    struct remembered *one = &remembered.stacks[remembered.next++ % REMEMBERED];

    one->base = walk->base;
    one->depth = walk->depth;
    memcpy(one->places, walk->places, walk->depth * sizeof(walk->places[0]));
    one->stack = number;
}

static uint64_t hash_of(const struct walk *walk)
{
    uint64_t hash = 0xcbf29ce484222325ull;

    for (unsigned i = 0; i < walk->depth; i++) {
        hash = (hash ^ walk->frames[i]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

static bool holds(struct call_stack *stack, const struct walk *walk)
{
    return atomic_load_explicit(&stack->ready, memory_order_acquire) &&
           stack->depth == walk->depth &&
           memcmp(stack->frames, walk->frames, walk->depth * sizeof(walk->frames[0])) == 0;
}

/* The stack's number, a new one if need be; 0: no room, or it is just being written. */
static uint32_t number_of(const struct walk *walk)
{
    uint64_t hash = hash_of(walk);

    for (unsigned i = 0; i < PROBES; i++) {
        unsigned place = (unsigned)(hash % STACKS + i) % STACKS;
        struct call_stack *stack = &stacks[place];
        uint64_t there = 0;
        if (atomic_compare_exchange_strong_explicit(&stack->hash, &there, hash,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            stack->depth = (uint8_t)walk->depth;
            memcpy(stack->frames, walk->frames, walk->depth * sizeof(walk->frames[0]));
            atomic_store_explicit(&stack->ready, true, memory_order_release);
            return place + 1;
        }
        if (there == hash && holds(stack, walk))
            return place + 1;
    }
    recorder_count(stacks_without_room, 1);
    return 0;
}

/* "module+0xoffset" without anything of libc's that might allocate or lock. Returns how long it is;
 * 0: there is no room for it. */
static size_t write_frame(char *text, size_t size, const struct loaded_file *file, uint64_t counter)
{
    uint64_t offset = counter - file->bias;
    unsigned digits = 1;

    while (digits < 16 && offset >> (4 * digits))
        digits++;
    size_t length = strnlen(file->name, NAME_MAX);
    if (length + 3 + digits >= size)
        return 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)file->name[i];
        text[i] = c == ';' || c < ' ' ? '_' : (char)c;
    }
    text[length] = '+';
    text[length + 1] = '0';
    text[length + 2] = 'x';
    for (unsigned i = 0; i < digits; i++)
        text[length + 3 + i] = "0123456789abcdef"[offset >> (4 * (digits - 1 - i)) & 15];
    return length + 3 + digits;
}

static bool is_ours(uint64_t counter)
{
    return counter >= our_begin && counter < our_end;
}

/* Tells the file, unless it was told for this stack: `told`, where what was told is kept. */
static size_t tell_file(const struct loaded_file *file, const void **told, size_t count, char *text,
                        size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (told[i] == file->header)
            return count;
    if (loaded_file_describe(file, text, size) > 0)
        OPTRAIL_TEXT(module_define, 0, text, file->bias);
    told[count] = file->header;
    return count + 1;
}

/* The files first: who reads the stack knows them already, whenever the session began. */
static void __attribute__((noinline, cold)) tell(uint32_t number)
{
    const struct call_stack *stack = &stacks[number - 1];
    const void *told[FRAMES];
    char text[FRAMES * 48], file_text[1024];
    size_t used = 0, depth = 0, files = 0;

    for (unsigned i = 0; i < stack->depth; i++) {
        struct loaded_file file;
        if (is_ours(stack->frames[i]))
            continue;
        uint64_t counter = stack->frames[i] - 1; /* within the call */
        size_t parted = used > 0;
        loaded_file_find(counter, &file);
        size_t length = write_frame(text + used + parted, sizeof(text) - used - 2, &file, counter);
        if (length == 0)
            break;
        if (file.header && OPTRAIL_ENABLED(module_define))
            files = tell_file(&file, told, files, file_text, sizeof(file_text));
        if (parted)
            text[used] = ';';
        used += parted + length;
        depth++;
    }
    text[used] = '\0';
    OPTRAIL_TEXT(stack_define, number, text, depth);
}

static bool is_on_other_stack(void)
{
    stack_t now;

    return sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK);
}

static uint32_t __attribute__((noinline)) unwind_here(uintptr_t base)
{
    struct walk walk = {.base = base, .steady = true};

    _Unwind_Backtrace(walk_frame, &walk);
    recorder_count(stacks_unwound, 1);
    if (walk.cut)
        recorder_count(stacks_cut, 1);
    if (walk.depth == 0)
        return 0;
    uint32_t number = number_of(&walk);
    if (number && walk.steady)
        remember(&walk, number);
    return number;
}

uint32_t __attribute__((noinline)) call_stack_here(uint64_t now_ns)
{
    uintptr_t base = (uintptr_t)__builtin_frame_address(0);
    uint32_t number = recall(base);

    if (number == 0) {
        if (is_on_other_stack()) {
            recorder_count(stacks_on_other_stacks, 1);
            return 0;
        }
        number = unwind_here(base);
    }
    if (number == 0 || !OPTRAIL_ENABLED(stack_define))
        return number;
    struct call_stack *stack = &stacks[number - 1];
    uint64_t told = atomic_load_explicit(&stack->told_ns, memory_order_relaxed);
    if (told > recorder_process_began_ns && now_ns < told + TELL_AGAIN_NS)
        return number;
    if (!is_on_other_stack() &&
        atomic_compare_exchange_strong_explicit(&stack->told_ns, &told, now_ns,
                                                memory_order_relaxed, memory_order_relaxed))
        tell(number);
    return number;
}

void call_stacks_prepare(void)
{
    struct dl_find_object object;

    loaded_file_prepare();
    if (_dl_find_object((void *)(uintptr_t)call_stack_here, &object) == 0) {
        our_begin = (uintptr_t)object.dlfo_map_start;
        our_end = (uintptr_t)object.dlfo_map_end;
    }
    (void)call_stack_here(recorder_now_ns());
}
