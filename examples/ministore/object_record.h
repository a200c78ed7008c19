/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_OBJECT_RECORD_H
#define MINISTORE_OBJECT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/* What the load knows of an object. A row belongs to one connection, whose lock guards it. */
struct object_row {
    uint64_t acknowledged; /* the newest version that must be there; 0: none */
    uint64_t submitted;    /* the newest version that may be there */
    bool busy;             /* an op on it is in flight */
};

/* The rows of all objects, and their file: a line "object acknowledged submitted" for each that
 * was ever written. */
struct object_record {
    uint64_t count;
    uint64_t object_size;
    struct object_row *rows; /* owned */
};

/* Reads the file if there is one (NULL: none). `need`: it must exist. 0, or -1 after a message. */
int object_record_open(struct object_record *record, const char *path, bool need, uint64_t count,
                       uint64_t object_size);

/* Writes the file anew; it appears whole. 0, or -1 after a message. */
int object_record_save(const struct object_record *record, const char *path);

void object_record_free(struct object_record *record);

#endif
