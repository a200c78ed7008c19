/* SPDX-License-Identifier: MIT */
#include "daemon_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon_log.h"
#include "inject.h"
#include "named_lock.h"

struct daemon_stats stats;

static void write_json(FILE *file)
{
    fputs("{\"ops\":{", file);
    for (int type = FRAME_READ; type < FRAME_TYPE_END; type++)
        fprintf(file, "%s\"%s\":{\"count\":%" PRIu64 ",\"failed\":%" PRIu64 "}",
                type == FRAME_READ ? "" : ",", frame_type_names[type], stats.answered[type],
                stats.failed[type]);
    fputs("}", file);
#define STAT_WRITE(field, text) fprintf(file, ",\"" #field "\":%" PRIu64, stats.field);
    STAT_ROWS(STAT_WRITE)
#undef STAT_WRITE
    fputs(",\"locks\":", file);
    lock_write_json(file);
    fputs(",\"inject\":", file);
    inject_write_json(file);
    fputs("}\n", file);
}

int stats_write(const char *path)
{
    char beside[4096];
    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return log_error("--stats %s: the name is too long", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        return log_error("cannot write %s: %s", beside, strerror(errno));
    write_json(file);
    int bad = ferror(file);
    if (fclose(file) != 0 || bad || rename(beside, path) != 0) {
        remove(beside);
        return log_error("cannot write %s: %s", path, strerror(errno));
    }
    return 0;
}
