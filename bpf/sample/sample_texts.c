/* SPDX-License-Identifier: MIT */
#include "sample_texts.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"

/* As many as who reads a trace keeps of one process: see stack_table.c. */
#define ROOM  65536u /* a power of two; at most three quarters are used */
#define BYTES (64u << 20)

struct sample_texts {
    size_t count, bytes;
    char *texts[ROOM];      /* owned; by number, the first one is 1 */
    uint64_t hashes[ROOM];  /* of the same */
    uint32_t numbers[ROOM]; /* by hash; 0: free */
};

int sample_texts_new(struct sample_texts **texts)
{
    *texts = calloc(1, sizeof(**texts));
    return *texts ? 0 : err_no_memory();
}

void sample_texts_free(struct sample_texts *texts)
{
    for (size_t i = 1; texts && i <= texts->count; i++)
        free(texts->texts[i]);
    free(texts);
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = length;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    for (; length > 0; length--)
        hash = (hash ^ (unsigned char)*text++) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

uint32_t sample_texts_number(struct sample_texts *texts, const char *text, size_t length)
{
    uint64_t hash = hash_of(text, length);
    size_t at = hash % ROOM;
    for (; texts->numbers[at]; at = (at + 1) % ROOM) {
        uint32_t number = texts->numbers[at];
        if (texts->hashes[number] == hash && strlen(texts->texts[number]) == length &&
            memcmp(texts->texts[number], text, length) == 0)
            return number;
    }
    if (texts->count >= ROOM / 4 * 3 || texts->bytes + length > BYTES)
        return 0;
    char *copy = strndup(text, length);
    if (!copy)
        return 0;
    uint32_t number = (uint32_t)++texts->count;
    texts->bytes += length + 1;
    texts->texts[number] = copy;
    texts->hashes[number] = hash;
    texts->numbers[at] = number;
    return number;
}

const char *sample_texts_text(const struct sample_texts *texts, uint32_t number)
{
    return texts->texts[number];
}
