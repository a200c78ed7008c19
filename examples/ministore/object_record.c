/* SPDX-License-Identifier: MIT */
#include "object_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_log.h"

static int read_rows(struct object_record *record, FILE *file, const char *path)
{
    uint64_t size, object, acknowledged, submitted;
    if (fscanf(file, "object_size %" SCNu64 "\n", &size) != 1)
        return log_error("%s is no record of acknowledged writes", path);
    if (size != record->object_size)
        return log_error("%s was made with --object-size %" PRIu64, path, size);
    int fields;
    while ((fields = fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64 "\n", &object, &acknowledged,
                            &submitted)) == 3) {
        if (object >= record->count || acknowledged > submitted)
            return log_error("%s has a row for object %" PRIu64 ": --objects must be larger, or it "
                             "is damaged",
                             path, object);
        record->rows[object] =
            (struct object_row){.acknowledged = acknowledged, .submitted = submitted};
    }
    return fields == EOF ? 0 : log_error("%s has a damaged line", path);
}

int object_record_open(struct object_record *record, const char *path, bool need, uint64_t count,
                       uint64_t object_size)
{
    *record = (struct object_record){.count = count, .object_size = object_size};
    record->rows = calloc(count, sizeof(*record->rows));
    if (!record->rows)
        return log_error("no memory for %" PRIu64 " objects", count);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return need ? log_error("cannot read %s: %s", path, strerror(errno)) : 0;
    int result = read_rows(record, file, path);
    fclose(file);
    return result;
}

int object_record_save(const struct object_record *record, const char *path)
{
    char beside[4096];
    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return log_error("--record %s: the name is too long", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        return log_error("cannot write %s: %s", beside, strerror(errno));
    fprintf(file, "object_size %" PRIu64 "\n", record->object_size);
    for (uint64_t i = 0; i < record->count; i++) {
        const struct object_row *row = &record->rows[i];
        if (row->submitted)
            fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, row->acknowledged,
                    row->submitted);
    }
    int bad = ferror(file);
    if (fclose(file) != 0 || bad || rename(beside, path) != 0) {
        remove(beside);
        return log_error("cannot write %s: %s", path, strerror(errno));
    }
    return 0;
}

void object_record_free(struct object_record *record)
{
    free(record->rows);
}
