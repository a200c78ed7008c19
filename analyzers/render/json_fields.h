/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_JSON_FIELDS_H
#define OPTRAIL_JSON_FIELDS_H

#include <stddef.h>

/* The report's JSON as rows: one a field. A list of rows ends with one without a key. */
enum field_kind {
    FIELD_TEXT,
    FIELD_UNSIGNED, /* uint64_t */
    FIELD_INT,
    FIELD_REAL,
    FIELD_BOOL,
    FIELD_ROUNDED, /* double, written as an integer */
    FIELD_STRINGS, /* NULL-terminated char ** */
    FIELD_OBJECT,  /* struct in place, of `fields` */
    FIELD_ROWS,    /* array of structs of `fields` */
    FIELD_COUNTS,  /* array of struct report_count, as one object */
};

struct field {
    const char *key; /* NULL ends the list */
    enum field_kind kind;
    size_t offset;
    size_t count_offset; /* rows and counts: where their number stands */
    size_t size;         /* rows: of one */
    const struct field *fields;
};

extern const struct field latency_fields[];
extern const struct field lock_fields[];
extern const struct field queue_fields[];
extern const struct field activity_fields[];
extern const struct field cpu_fields[];
extern const struct field load_fields[];
extern const struct field tail_fields[];
extern const struct field population_fields[];
extern const struct field stall_fields[];
extern const struct field rhythm_fields[];

#endif
