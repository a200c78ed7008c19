/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_NAMES_H
#define OPTRAIL_FLAME_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names as numbers: each text once, whoever it is of (frames, threads, op types). Number 0 is "",
 * which stands for "not known". Not thread-safe.
 */
struct flame_names {
    uint32_t count;
    uint32_t room;  /* of `rows` */
    uint32_t slots; /* of the hash table: a power of two */
    uint64_t seed;  /* so that nobody can choose names that fall together */
    uint32_t *table;
    struct flame_name_row {
        const char *text; /* ends with NUL */
        uint32_t length;
        uint32_t hash;
    } * rows;
    char *block; /* texts lie in blocks; each begins with the address of the one before */
    size_t block_used, block_size;
};

/* Negative errno with the message. The caller frees it, also when this fails. */
int flame_names_init(struct flame_names *names);
void flame_names_free(struct flame_names *names);

/* The number of the text, which is copied when it is new; a NUL in it ends it. -ENOMEM with the
 * message; -E2BIG with the message beyond 2^31 names. */
int flame_name(struct flame_names *names, const char *text, size_t length, uint32_t *name);

/* A hash of the text, the same for the same names only. */
uint32_t flame_names_hash(const struct flame_names *names, const char *text, size_t length);

/* Weak: lives as long as the names. */
static inline const char *flame_name_text(const struct flame_names *names, uint32_t name)
{
    return names->rows[name].text;
}

#endif
