/* SPDX-License-Identifier: MIT */
#include "told_ops.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fnv1a.h"

#define FIRST_SIZE 1024

/* With its end, so that two texts in a row are not one. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    return fnv1a(hash, text, strlen(text) + 1);
}

uint64_t told_ops_key(const char *description, const char *begin, uint64_t latency_ns)
{
    uint64_t hash = add_text(add_text(FNV1A_BEGIN, description), begin);

    hash = fnv1a(hash, &latency_ns, sizeof(latency_ns));
    return hash ? hash : 1;
}

/* The row of the key, or the free one where it belongs. */
static uint64_t *find(uint64_t *rows, size_t size, uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & (size - 1);

    while (rows[at] && rows[at] != key)
        at = (at + 1) & (size - 1);
    return &rows[at];
}

static int grow(struct told_ops *told)
{
    size_t size = told->size ? 2 * told->size : FIRST_SIZE;
    uint64_t *rows = calloc(size, sizeof(*rows));

    if (!rows)
        return err_no_memory();
    for (size_t i = 0; i < told->size; i++)
        if (told->rows[i])
            *find(rows, size, told->rows[i]) = told->rows[i];
    free(told->rows);
    told->rows = rows;
    told->size = size;
    return 0;
}

int told_ops_add(struct told_ops *told, uint64_t key)
{
    int result = 2 * told->count >= told->size ? grow(told) : 0;

    if (result < 0)
        return result;
    uint64_t *row = find(told->rows, told->size, key);
    if (*row)
        return 1;
    *row = key;
    told->count++;
    return 0;
}

void told_ops_free(struct told_ops *told)
{
    free(told->rows);
    *told = (struct told_ops){0};
}
