/* SPDX-License-Identifier: MIT */
#include "kernel_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

#define FIRST_ROOM 1024 /* at most half of it is used */

struct kernel_name {
    uint64_t address; /* 0: free */
    char *name;       /* owned; NULL: the kernel has none */
};

static struct kernel_name *row_of(struct kernel_name *rows, size_t room, uint64_t address)
{
    size_t at = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 32) & (room - 1);
    while (rows[at].address && rows[at].address != address)
        at = (at + 1) & (room - 1);
    return &rows[at];
}

static int make_room(struct kernel_names *names, size_t more)
{
    size_t room = names->room ? names->room : FIRST_ROOM;
    while (2 * (names->count + more) > room)
        room *= 2;
    if (room == names->room)
        return 0;
    struct kernel_name *rows = calloc(room, sizeof(*rows));
    if (!rows)
        return err_no_memory();
    for (size_t i = 0; i < names->room; i++)
        if (names->rows[i].address)
            *row_of(rows, room, names->rows[i].address) = names->rows[i];
    free(names->rows);
    names->rows = rows;
    names->room = room;
    return 0;
}

void kernel_names_free(struct kernel_names *names)
{
    for (size_t i = 0; i < names->room; i++)
        free(names->rows[i].name);
    free(names->rows);
    *names = (struct kernel_names){0};
}

static int keep(struct kernel_names *names, uint64_t address, const char *text)
{
    struct kernel_name *row = row_of(names->rows, names->room, address);
    char *name = *text ? strdup(text) : NULL;
    if (*text && !name)
        return err_no_memory();
    if (row->address) { /* twice in one question */
        free(name);
        return 0;
    }
    *row = (struct kernel_name){address, name};
    names->count++;
    names->named += name != NULL;
    return 0;
}

static int ask(struct kernel_names *names, struct sample_probe *probe, const uint64_t *addresses,
               size_t count)
{
    char texts[SAMPLE_KERNEL_FRAMES][SAMPLE_KERNEL_NAME];
    int error = sample_probe_name_functions(probe, addresses, count, texts);
    for (size_t i = 0; i < count && !error; i++)
        error = keep(names, addresses[i], texts[i]);
    return error;
}

int kernel_names_find(struct kernel_names *names, struct sample_probe *probe,
                      const uint64_t *addresses, size_t count, const char **found)
{
    uint64_t unknown[SAMPLE_KERNEL_FRAMES];
    size_t unknown_count = 0;
    assert(count <= SAMPLE_KERNEL_FRAMES);
    int error = make_room(names, count);
    for (size_t i = 0; i < count && !error; i++)
        if (addresses[i] && !row_of(names->rows, names->room, addresses[i])->address)
            unknown[unknown_count++] = addresses[i];
    if (unknown_count)
        error = ask(names, probe, unknown, unknown_count);
    for (size_t i = 0; i < count && !error; i++)
        found[i] = addresses[i] ? row_of(names->rows, names->room, addresses[i])->name : NULL;
    return error;
}

bool kernel_names_hidden(const struct kernel_names *names)
{
    return names->count > 0 && names->named == 0;
}
