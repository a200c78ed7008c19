/* SPDX-License-Identifier: MIT */
#include "stack_layout.h"

#include <bpf/bpf.h>
#include <string.h>

#define WORD sizeof(uint64_t)

static uint64_t word_at(const struct stack_snapshot *snapshot, size_t index)
{
    uint64_t word;
    memcpy(&word, snapshot->stack + index * WORD, WORD);
    return word;
}

struct lock_layout stack_layout_make(const struct stack_snapshot *snapshot, const uint64_t *frames,
                                     const uint64_t *stack_pointers, size_t count, bool complete)
{
    struct lock_layout layout = {0};
    size_t words = snapshot->size / WORD;
    if (words > LOCK_KEY_WORDS)
        words = LOCK_KEY_WORDS;
    for (size_t i = 1; i < count; i++) {
        uint64_t above = stack_pointers[i] - snapshot->registers[STACK_RSP];
        size_t index = (size_t)(above / WORD) - 1;
        if (above % WORD == 0 && above > words * WORD)
            return layout; /* what lies so far away is not looked at */
        if (above < WORD || above % WORD || word_at(snapshot, index) != frames[i] ||
            (layout.count && layout.at[layout.count - 1] >= index))
            return (struct lock_layout){0};
        layout.at[layout.count++] = (uint8_t)index;
        if (layout.count == LOCK_LAYOUT_FRAMES)
            return layout;
    }
    return complete ? layout : (struct lock_layout){0};
}

uint64_t stack_layout_hash(const struct stack_snapshot *snapshot, const struct lock_layout *layout)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < layout->count; i++)
        hash = lock_hash_word(hash, word_at(snapshot, layout->at[i]));
    return lock_hash_end(hash);
}

/* The newest comes first. */
static void add_layout(const struct stack_tables *tables, const struct lock_snapshot *taken,
                       const struct lock_layout *layout)
{
    const struct lock_layout_key key = {
        .pid = taken->pid, .depth = taken->depth, .counter = taken->registers[STACK_RIP]};
    struct lock_layouts known = {0};
    bpf_map_lookup_elem(tables->layouts, &key, &known);
    for (size_t i = 0; i < LOCK_LAYOUTS; i++)
        if (memcmp(&known.rows[i], layout, sizeof(*layout)) == 0)
            return;
    memmove(&known.rows[1], &known.rows[0], (LOCK_LAYOUTS - 1) * sizeof(known.rows[0]));
    known.rows[0] = *layout;
    bpf_map_update_elem(tables->layouts, &key, &known, BPF_ANY);
}

void stack_tables_tell(const struct stack_tables *tables, const struct lock_snapshot *taken,
                       const struct stack_snapshot *snapshot, const struct lock_layout *layout)
{
    const struct lock_stack_key key = {.pid = taken->pid,
                                       .depth = taken->depth,
                                       .counter = taken->registers[STACK_RIP],
                                       .words = stack_layout_hash(snapshot, layout)};
    const struct lock_stack stack = {.number = taken->stack, .snapshots = 1};
    if (!tables->known)
        return;
    bpf_map_update_elem(tables->stacks, &key, &stack, BPF_NOEXIST);
    add_layout(tables, taken, layout);
}
