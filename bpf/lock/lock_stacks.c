/* SPDX-License-Identifier: MIT */
#include "lock_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "symbols.h"

#define REFRESH_NS  1000000000ull
#define HINT_FRAMES 8 /* the innermost ones, which tell of what kind the wait is */
#define MAX_STACKS  (1u << 20)

static const char *const allocator_functions[] = {
    "malloc",         "free",           "calloc",          "realloc",       "memalign",
    "posix_memalign", "aligned_alloc",  "valloc",          "pvalloc",       "reallocarray",
    "malloc_trim",    "mallinfo",       "mallinfo2",       "mallopt",       "malloc_usable_size",
    "malloc_stats",   "malloc_info",    "cfree",           "__libc_malloc", "__libc_free",
    "__libc_calloc",  "__libc_realloc", "__libc_memalign", "operator new",  "operator delete"};

static bool is_allocator(const char *name)
{
    for (size_t i = 0; i < sizeof(allocator_functions) / sizeof(allocator_functions[0]); i++) {
        const char *function = allocator_functions[i];
        size_t length = strlen(function);
        /* operators go on with their arguments, or with [] */
        if (strncmp(name, function, length) == 0 && (name[length] == 0 || function[0] == 'o'))
            return true;
    }
    return false;
}

static enum stack_hint find_hint(struct unwinder *unwinder, const uint64_t *frames, size_t count)
{
    struct frame_name name;
    enum stack_hint hint = STACK_OF_LIBC;
    for (size_t i = 0; i < count && i < HINT_FRAMES; i++) {
        symbols_find(unwinder, frames[i], i > 0, &name);
        if (!name.function)
            continue;
        if (is_allocator(name.function))
            return STACK_OF_ALLOCATOR;
        if (strncmp(name.function, "__cxa_guard_acquire", 19) == 0)
            return STACK_OF_GUARD;
    }
    return hint;
}

static int make_room(struct lock_stacks *stacks, uint32_t number)
{
    if (number < stacks->count)
        return 0;
    size_t count = stacks->count ? stacks->count : 256;
    while (count <= number)
        count *= 2;
    struct lock_stack_text *rows = realloc(stacks->rows, count * sizeof(*rows));
    if (!rows)
        return err_no_memory();
    memset(rows + stacks->count, 0, (count - stacks->count) * sizeof(*rows));
    stacks->rows = rows;
    stacks->count = count;
    return 0;
}

size_t lock_stacks_unwind(struct watched_process *process, const struct stack_snapshot *snapshot,
                          uint64_t *frames, uint64_t *stack_pointers, enum unwind_end *end,
                          uint64_t now)
{
    size_t count = unwinder_unwind_places(process->unwinder, snapshot, frames, stack_pointers,
                                          LOCK_STACK_FRAMES, end);
    /* a library that has been loaded since */
    if (*end == UNWIND_NO_MODULE && now - process->refreshed_ns > REFRESH_NS) {
        process->refreshed_ns = now;
        if (unwinder_refresh(process->unwinder) == 0)
            count = unwinder_unwind_places(process->unwinder, snapshot, frames, stack_pointers,
                                           LOCK_STACK_FRAMES, end);
    }
    return count;
}

/* The same number again: is it the same stack? As far as both go. */
static void compare(struct lock_stacks *stacks, const struct lock_stack_text *row,
                    const uint64_t *frames, size_t count)
{
    size_t both = count < row->frame_count ? count : row->frame_count;
    if (memcmp(row->frames, frames, both * sizeof(*frames)) != 0)
        stacks->differ++;
}

int lock_stacks_add(struct lock_stacks *stacks, struct watched_process *process,
                    const struct lock_snapshot *taken, uint64_t now)
{
    uint64_t frames[LOCK_STACK_FRAMES], stack_pointers[LOCK_STACK_FRAMES];
    enum unwind_end end;
    uint32_t number = taken->stack;
    if (number >= MAX_STACKS || !process->unwinder)
        return 0;
    int error = make_room(stacks, number);
    if (error)
        return error;
    struct stack_snapshot snapshot = {.stack = taken->bytes + taken->skip, .size = taken->size};
    memcpy(snapshot.registers, taken->registers, sizeof(snapshot.registers));
    size_t count = lock_stacks_unwind(process, &snapshot, frames, stack_pointers, &end, now);
    struct lock_layout layout =
        stack_layout_make(&snapshot, frames, stack_pointers, count, end == UNWIND_COMPLETE);
    if (layout.count)
        stack_tables_tell(&stacks->tables, taken, &snapshot, &layout);
    struct lock_stack_text *row = &stacks->rows[number];
    if (row->taken && (row->end == UNWIND_COMPLETE || end != UNWIND_COMPLETE)) {
        compare(stacks, row, frames, count);
        return 0;
    }
    /* the first, or one that has become complete */
    char *text = symbols_text(process->unwinder, frames, count, stacks->whole_functions);
    uint64_t *copy = malloc((count + 1) * sizeof(*copy));
    if (!text || !copy) {
        free(text);
        free(copy);
        return err_no_memory();
    }
    memcpy(copy, frames, count * sizeof(*copy));
    if (row->taken)
        stacks->ended[row->end]--;
    else
        stacks->taken++;
    free(row->frames);
    stacks->ended[end]++;
    char *previous = row->text; /* somebody may have it */
    *row = (struct lock_stack_text){
        .text = text,
        .previous = previous,
        .frames = copy,
        .frame_count = (uint32_t)count,
        .end = (uint8_t)end,
        .hint = (uint8_t)find_hint(process->unwinder, frames, count),
        .taken = true,
    };
    return 0;
}

const struct lock_stack_text *lock_stacks_find(const struct lock_stacks *stacks, uint32_t number)
{
    if (number == 0 || number >= stacks->count || !stacks->rows[number].taken)
        return NULL;
    return &stacks->rows[number];
}

void lock_stacks_free(struct lock_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++) {
        free(stacks->rows[i].text);
        free(stacks->rows[i].previous);
        free(stacks->rows[i].frames);
    }
    free(stacks->rows);
    *stacks = (struct lock_stacks){0};
}
