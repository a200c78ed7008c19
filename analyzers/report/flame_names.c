/* SPDX-License-Identifier: MIT */
#include "flame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "err.h"

#define BLOCK_BYTES (256u << 10)

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes a step, multiplied with folding, as in Wang Yi's wyhash. */
static uint32_t hash_text(uint64_t seed, const char *text, size_t length)
{
    uint64_t hash = seed ^ length, word;
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        memcpy(&word, text + at, 8);
        hash = mix(hash ^ word, 0x9e3779b97f4a7c15ull);
    }
    word = 0;
    for (size_t i = at; i < length; i++)
        word = word << 8 | (unsigned char)text[i];
    hash = mix(hash ^ word, 0xd1b54a32d192ed03ull);
    return (uint32_t)(hash ^ hash >> 32);
}

uint32_t flame_names_hash(const struct flame_names *names, const char *text, size_t length)
{
    return hash_text(names->seed, text, length);
}

static int grow_table(struct flame_names *names)
{
    uint32_t slots = names->slots ? names->slots * 2 : 1024;
    uint32_t *table = calloc(slots, sizeof(*table));
    if (!table)
        return err_no_memory();
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t at = names->rows[i].hash & (slots - 1);
        while (table[at])
            at = (at + 1) & (slots - 1);
        table[at] = i + 1;
    }
    free(names->table);
    names->table = table;
    names->slots = slots;
    return 0;
}

static char *keep_text(struct flame_names *names, const char *text, size_t length)
{
    if (names->block_used + length + 1 > names->block_size) {
        size_t size = sizeof(char *) + length + 1;
        size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        char *block = malloc(size);
        if (!block)
            return NULL;
        memcpy(block, (const void *)&names->block, sizeof(char *));
        names->block = block;
        names->block_used = sizeof(char *);
        names->block_size = size;
    }
    char *kept = names->block + names->block_used;
    memcpy(kept, text, length);
    kept[length] = '\0';
    names->block_used += length + 1;
    return kept;
}

static int add(struct flame_names *names, const char *text, size_t length, uint32_t hash)
{
    if (names->count >= 1u << 31)
        return err_set(E2BIG, "more than 2^31 names");
    if (names->count == names->room) {
        uint32_t room = names->room ? names->room * 2 : 512;
        struct flame_name_row *rows = realloc(names->rows, room * sizeof(*rows));
        if (!rows)
            return err_no_memory();
        names->rows = rows;
        names->room = room;
    }
    char *kept = keep_text(names, text, length);
    if (!kept)
        return err_no_memory();
    names->rows[names->count++] =
        (struct flame_name_row){.text = kept, .length = (uint32_t)length, .hash = hash};
    return 0;
}

int flame_name(struct flame_names *names, const char *text, size_t length, uint32_t *name)
{
    const char *nul = memchr(text, '\0', length);
    if (nul)
        length = (size_t)(nul - text);
    if (names->slots / 2 <= names->count) {
        int result = grow_table(names);
        if (result < 0)
            return result;
    }
    uint32_t hash = hash_text(names->seed, text, length);
    uint32_t at = hash & (names->slots - 1);
    for (; names->table[at]; at = (at + 1) & (names->slots - 1)) {
        const struct flame_name_row *row = &names->rows[names->table[at] - 1];
        if (row->hash == hash && row->length == length && memcmp(row->text, text, length) == 0) {
            *name = names->table[at] - 1;
            return 0;
        }
    }
    int result = add(names, text, length, hash);
    if (result < 0)
        return result;
    names->table[at] = names->count;
    *name = names->count - 1;
    return 0;
}

int flame_names_init(struct flame_names *names)
{
    uint32_t empty;
    *names = (struct flame_names){0};
    if (getrandom(&names->seed, sizeof(names->seed), GRND_NONBLOCK) < 0)
        names->seed = 0x2545f4914f6cdd1dull; /* early at boot: names are found all the same */
    return flame_name(names, "", 0, &empty);
}

void flame_names_free(struct flame_names *names)
{
    for (char *block = names->block; block;) {
        char *before;
        memcpy((void *)&before, block, sizeof(before));
        free(block);
        block = before;
    }
    free(names->rows);
    free(names->table);
    *names = (struct flame_names){0};
}
