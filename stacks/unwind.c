/* SPDX-License-Identifier: MIT */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "unwinder.h"

const char *const unwind_end_names[UNWIND_END_COUNT] = {
    [UNWIND_COMPLETE] = "complete",   [UNWIND_SNAPSHOT] = "snapshot",
    [UNWIND_NO_MODULE] = "no_module", [UNWIND_NO_ROW] = "no_row",
    [UNWIND_STUCK] = "stuck",         [UNWIND_FULL] = "full",
    [UNWIND_FAULT] = "fault",
};

const char *const unwind_end_words[UNWIND_END_COUNT] = {
    [UNWIND_COMPLETE] = "go to the thread's start",
    [UNWIND_SNAPSHOT] = "end beyond what was copied of them",
    [UNWIND_NO_MODULE] = "end in code of no file",
    [UNWIND_NO_ROW] = "end in code whose file does not say how to go on",
    [UNWIND_STUCK] = "do not go on",
    [UNWIND_FULL] = "have more frames than are kept",
    [UNWIND_FAULT] = "could not be read to their end",
};

int unwinder_open(pid_t pid, struct unwinder **unwinder)
{
    *unwinder = NULL;
    struct unwinder *new = calloc(1, sizeof(*new));
    if (!new)
        return err_no_memory();
    new->pid = pid;
    int result = unwinder_refresh(new);
    if (result < 0) {
        unwinder_close(new);
        return result;
    }
    *unwinder = new;
    return 0;
}

void unwinder_close(struct unwinder *unwinder)
{
    if (!unwinder)
        return;
    names_free(unwinder->names);
    libunwind_space_free(unwinder->fallback);
    process_maps_free(&unwinder->maps);
    free(unwinder);
}

int unwinder_refresh(struct unwinder *unwinder)
{
    int result = process_maps_read(&unwinder->maps, unwinder->pid);
    if (result < 0)
        return result;
    memset(unwinder->cache, 0, sizeof(unwinder->cache));
    libunwind_space_flush(unwinder->fallback);
    names_moved(unwinder->names);
    /* the kernel's code is in no file: it is read while the process is there */
    for (size_t i = 0; i < unwinder->maps.count; i++)
        if (strcmp(unwinder->maps.maps[i].path, "[vdso]") == 0)
            unwinder_map(unwinder, unwinder->maps.maps[i].start);
    return 0;
}

struct process_map *unwinder_map(struct unwinder *unwinder, uint64_t address)
{
    struct process_map *map = process_maps_find(&unwinder->maps, address);
    if (!map)
        return NULL;
    if (process_map_load(unwinder->pid, map) && map->inode != 0) {
        const struct stack_module *module = map->module;
        if (!module || module->bad) {
            unwinder->counts.bad_modules++;
        } else {
            unwinder->counts.modules++;
            unwinder->counts.rows += module->rows.count;
        }
    }
    return map->module && !map->module->bad ? map : NULL;
}

/* Code of the kernel's own in the process: how far its caller's frame is from the stack pointer; 0:
 * it is none. */
static int32_t kernel_code_cfa(const struct unwinder *unwinder, uint64_t pc)
{
    const struct process_map *map = process_maps_find(&unwinder->maps, pc);
    /* its old entries for system calls do nothing to the stack */
    if (map && strcmp(map->path, "[vsyscall]") == 0)
        return 8;
    /* what a probe calls since Linux 6.18 pushes three registers before its system call:
     * uprobe_trampoline_entry in arch/x86/kernel/uprobes.c */
    if (map && strcmp(map->path, "[uprobes-trampoline]") == 0)
        return 32;
    return 0;
}

static const struct pc_entry *fill(struct unwinder *unwinder, struct pc_entry *entry, uint64_t pc)
{
    const struct process_map *map = unwinder_map(unwinder, pc);
    *entry = (struct pc_entry){.pc = pc, .cfa = CFA_NO_MODULE};
    if (!map) {
        int32_t cfa = kernel_code_cfa(unwinder, pc);
        if (cfa) {
            entry->cfa = CFA_RSP;
            entry->cfa_offset = cfa;
        }
        return entry;
    }
    const struct stack_module *module = map->module;
    const struct unwind_row *row = unwind_rows_find(&module->rows, pc - map->bias - module->low);
    entry->cfa = CFA_NO_ROW;
    if (row) {
        entry->cfa = row->cfa;
        entry->cfa_offset = row->cfa_offset;
        entry->rbp_offset = row->rbp_offset;
        entry->rbp = row->rbp & RBP_RULE_BITS;
    }
    return entry;
}

static inline const struct pc_entry *entry_of(struct unwinder *unwinder, uint64_t pc)
{
    const uint64_t spread = 0x9e3779b97f4a7c15; /* 2^64 divided by the golden ratio */
    struct pc_entry *entry = &unwinder->cache[(pc * spread) >> (64 - PC_CACHE_BITS)];
    return entry->pc == pc && pc != 0 ? entry : fill(unwinder, entry, pc);
}

bool unwinder_is_signal_frame(struct unwinder *unwinder, uint64_t counter)
{
    const struct pc_entry *entry = entry_of(unwinder, counter);
    return entry->cfa == CFA_SIGNAL || entry->cfa == CFA_SIGNAL_BEYOND;
}

/* What a walk knows of the frame that it stands at. */
struct walk {
    uint64_t pc, sp, bp;
    bool returned_to; /* pc is a return address: the call before it counts */
    bool no_bp;       /* bp is not known: where it was saved could not be read */
    bool elsewhere;   /* a signal interrupted it on another stack than the snapshot's */
    enum unwind_end end;
};

/* Reads a word of the stack; false with how the walk ends. */
static inline bool read_stack(const struct stack_snapshot *snapshot, uint64_t address,
                              uint64_t *value, enum unwind_end *end)
{
    const uint64_t at = address - snapshot->registers[STACK_RSP];
    if (at < snapshot->size && snapshot->size - at >= sizeof(*value)) {
        memcpy(value, snapshot->stack + at, sizeof(*value));
        return true;
    }
    *end = at < SNAPSHOT_REACH ? UNWIND_SNAPSHOT : UNWIND_FAULT;
    return false;
}

/* The caller's rbp, from where it was saved. A place below the stack pointer was popped already, so
 * that the register has its old value again: compilers do not say so in a function's last
 * instructions. One that cannot be read matters only if a caller's frame needs it. */
static inline void restore_bp(const struct stack_snapshot *snapshot, uint64_t address,
                              struct walk *walk)
{
    enum unwind_end ignored;
    if (address >= walk->sp)
        walk->no_bp = !read_stack(snapshot, address, &walk->bp, &ignored);
}

/* Goes to the caller by the row; false with how the walk ends. */
static inline bool step(const struct stack_snapshot *snapshot, const struct pc_entry *row,
                        struct walk *walk)
{
    uint64_t cfa = 0;
    switch (row->cfa) {
    case CFA_RSP:
        cfa = walk->sp + (uint64_t)(int64_t)row->cfa_offset;
        break;
    case CFA_RBP:
        cfa = walk->bp + (uint64_t)(int64_t)row->cfa_offset;
        break;
    case CFA_AT_RBP:
        if (!read_stack(snapshot, walk->bp + (uint64_t)(int64_t)row->cfa_offset, &cfa, &walk->end))
            return false;
        break;
    case CFA_PLT:
        cfa = walk->sp + (uint64_t)row->cfa_offset;
        if ((walk->pc & 15) >= (uint64_t)row->rbp_offset)
            cfa += 8;
        break;
    default:
        return false;
    }
    /* by rbp: it must be known */
    if ((row->cfa == CFA_RBP || row->cfa == CFA_AT_RBP) && walk->no_bp) {
        walk->end = UNWIND_FAULT;
        return false;
    }
    if (!read_stack(snapshot, cfa - 8, &walk->pc, &walk->end))
        return false;
    /* a stack grows down: each caller's part lies above */
    if (cfa <= walk->sp) {
        walk->end = UNWIND_STUCK;
        return false;
    }
    if (row->rbp == RBP_AT_CFA)
        restore_bp(snapshot, cfa + (uint64_t)(int64_t)row->rbp_offset, walk);
    else if (row->rbp == RBP_AT_RBP)
        restore_bp(snapshot, walk->bp + (uint64_t)(int64_t)row->rbp_offset, walk);
    walk->sp = cfa;
    walk->returned_to = true;
    return true;
}

/* Goes to what the signal interrupted; it may be on another stack, so that it need not lie
 * above. (Linux, arch/x86/include/uapi/asm/ucontext.h) */
static bool step_over_signal(const struct stack_snapshot *snapshot, struct walk *walk)
{
    enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };
    uint64_t at = walk->sp;
    if (!read_stack(snapshot, at + UCONTEXT_RBP, &walk->bp, &walk->end) ||
        !read_stack(snapshot, at + UCONTEXT_RSP, &walk->sp, &walk->end) ||
        !read_stack(snapshot, at + UCONTEXT_RIP, &walk->pc, &walk->end))
        return false;
    walk->no_bp = false;
    walk->returned_to = false;
    walk->elsewhere = walk->sp - snapshot->registers[STACK_RSP] >= snapshot->size;
    return true;
}

/* Lets libunwind walk from the innermost frame to the caller of number `count - 1`, since it needs
 * all registers. */
static bool step_by_libunwind(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                              size_t count, bool signal, struct walk *walk)
{
    bool calls = walk->returned_to; /* else it runs, or a signal interrupted it */
    if (!unwinder->fallback)
        unwinder->fallback = libunwind_space_new(&unwinder->maps, false);
    walk->end = UNWIND_FAULT;
    if (!unwinder->fallback || !libunwind_begin(unwinder->fallback, snapshot))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!libunwind_step(unwinder->fallback, &walk->end))
            return false;
    unwinder->counts.by_libunwind++;
    uint64_t sp = 0;
    libunwind_register(unwinder->fallback, STACK_RSP, &sp);
    walk->returned_to = !signal;
    walk->elsewhere |= signal && sp - snapshot->registers[STACK_RSP] >= snapshot->size;
    /* who runs may have freed all of its frame: the end of a thrown exception's way */
    if (!signal && (sp < walk->sp || (sp == walk->sp && calls))) {
        walk->end = UNWIND_STUCK;
        return false;
    }
    libunwind_register(unwinder->fallback, STACK_RIP, &walk->pc);
    walk->no_bp = !libunwind_register(unwinder->fallback, STACK_RBP, &walk->bp);
    walk->sp = sp;
    return true;
}

static bool step_specially(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                           const struct pc_entry *row, size_t count, struct walk *walk)
{
    switch (row->cfa) {
    case CFA_SIGNAL:
        return step_over_signal(snapshot, walk);
    case CFA_BEYOND:
    case CFA_SIGNAL_BEYOND:
        return step_by_libunwind(unwinder, snapshot, count, row->cfa == CFA_SIGNAL_BEYOND, walk);
    case CFA_OUTERMOST:
        walk->end = UNWIND_COMPLETE;
        return false;
    case CFA_NO_MODULE:
        walk->end = UNWIND_NO_MODULE;
        return false;
    default:
        walk->end = UNWIND_NO_ROW;
        return false;
    }
}

size_t unwinder_unwind(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                       uint64_t *frames, size_t room, enum unwind_end *end)
{
    return unwinder_unwind_places(unwinder, snapshot, frames, NULL, room, end);
}

size_t unwinder_unwind_places(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                              uint64_t *frames, uint64_t *stack_pointers, size_t room,
                              enum unwind_end *end)
{
    struct walk walk = {
        .pc = snapshot->registers[STACK_RIP],
        .sp = snapshot->registers[STACK_RSP],
        .bp = snapshot->registers[STACK_RBP],
        .end = UNWIND_FULL,
    };
    size_t count = 0;

    while (count < room) {
        if (stack_pointers)
            stack_pointers[count] = walk.sp;
        frames[count++] = walk.pc;
        const struct pc_entry *row = entry_of(unwinder, walk.pc - walk.returned_to);
        bool plain = row->cfa >= CFA_RSP && row->cfa <= CFA_PLT;
        if (!(plain ? step(snapshot, row, &walk)
                    : step_specially(unwinder, snapshot, row, count, &walk)))
            break;
        if (walk.pc == 0) { /* nobody called, by convention */
            walk.end = UNWIND_COMPLETE;
            break;
        }
        if (count == room)
            walk.end = UNWIND_FULL;
    }
    if (walk.elsewhere && walk.end == UNWIND_FAULT)
        walk.end = UNWIND_SNAPSHOT;
    unwinder->counts.stacks++;
    unwinder->counts.frames += count;
    unwinder->counts.ended[walk.end]++;
    *end = walk.end;
    return count;
}

size_t unwinder_by_libunwind(struct unwinder *unwinder, const struct stack_snapshot *snapshot,
                             uint64_t *frames, size_t room, enum unwind_end *end)
{
    size_t count = 0;
    uint64_t pc = 0;
    *end = UNWIND_FULL;
    if (!unwinder->fallback)
        unwinder->fallback = libunwind_space_new(&unwinder->maps, false);
    if (!unwinder->fallback || !libunwind_begin(unwinder->fallback, snapshot)) {
        *end = UNWIND_FAULT;
        return 0;
    }
    while (count < room) {
        libunwind_register(unwinder->fallback, STACK_RIP, &pc);
        if (pc == 0) {
            *end = UNWIND_COMPLETE;
            break;
        }
        frames[count++] = pc;
        if (count == room || !libunwind_step(unwinder->fallback, end))
            break;
    }
    return count;
}

struct unwinder_counts unwinder_counts(const struct unwinder *unwinder)
{
    return unwinder->counts;
}
