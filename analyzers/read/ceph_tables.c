/* SPDX-License-Identifier: MIT */
#include "ceph_tables.h"

#include <errno.h>
#include <stdlib.h>

enum { WAYS = 4, OPEN_SETS = 8192, THREAD_SETS = 1024 };

int ceph_tables_init(struct ceph_tables *tables)
{
    *tables = (struct ceph_tables){
        .open = calloc((size_t)OPEN_SETS * WAYS, sizeof(*tables->open)),
        .threads = calloc((size_t)THREAD_SETS * WAYS, sizeof(*tables->threads)),
    };
    if (tables->open && tables->threads)
        return 0;
    ceph_tables_free(tables);
    return -ENOMEM;
}

void ceph_tables_free(struct ceph_tables *tables)
{
    free(tables->open);
    free(tables->threads);
}

/* splitmix64's finisher (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

uint64_t ceph_key(char room, uint64_t one, uint64_t two, uint64_t three, uint64_t four)
{
    uint64_t key = mix((unsigned char)room + 0x9e3779b97f4a7c15ull);

    key = mix(key ^ one) + 1;
    key = mix(key ^ two) + 2;
    key = mix(key ^ three) + 3;
    key = mix(key ^ four);
    return key ? key : 1;
}

struct ceph_open *ceph_tables_find(struct ceph_tables *tables, uint32_t pid, uint64_t key)
{
    struct ceph_open *set = tables->open + (mix(key ^ pid) % OPEN_SETS) * WAYS;

    for (int i = 0; i < WAYS; i++)
        if (set[i].key == key && set[i].pid == pid) {
            set[i].used = ++tables->now;
            return &set[i];
        }
    return NULL;
}

struct ceph_open *ceph_tables_open(struct ceph_tables *tables, uint32_t pid, uint64_t key,
                                   uint64_t *forgotten)
{
    struct ceph_open *set = tables->open + (mix(key ^ pid) % OPEN_SETS) * WAYS;
    struct ceph_open *found = ceph_tables_find(tables, pid, key);

    if (found)
        return found;
    found = set;
    for (int i = 0; i < WAYS && found->key != 0; i++)
        if (set[i].key == 0 || set[i].used < found->used)
            found = &set[i];
    *forgotten += found->key != 0 && !found->passing;
    *found = (struct ceph_open){.key = key, .pid = pid, .used = ++tables->now};
    return found;
}

void ceph_open_reset(struct ceph_open *open)
{
    *open = (struct ceph_open){.key = open->key, .pid = open->pid, .used = open->used};
}

void ceph_open_forget(struct ceph_open *open)
{
    open->key = 0;
}

struct ceph_thread *ceph_tables_thread(struct ceph_tables *tables, uint32_t pid, uint32_t tid)
{
    uint64_t id = ceph_key('P', pid, tid, 0, 0);
    struct ceph_thread *set = tables->threads + (id % THREAD_SETS) * WAYS;
    struct ceph_thread *found = set;

    for (int i = 0; i < WAYS; i++) {
        if (set[i].id == id) {
            found = &set[i];
            break;
        }
        if (found->id != 0 && (set[i].id == 0 || set[i].used < found->used))
            found = &set[i];
    }
    if (found->id != id)
        *found = (struct ceph_thread){.id = id};
    found->used = ++tables->now;
    return found;
}

struct ceph_thread ceph_thread_of(const struct ceph_thread *thread)
{
    return (struct ceph_thread){.id = thread->id, .used = thread->used};
}
