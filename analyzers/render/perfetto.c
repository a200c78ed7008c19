/* SPDX-License-Identifier: MIT */
/* The slowest ops of a report as a timeline: a track each, its stages one after the other in the
 * order of the path. flame_perfetto.c writes it. */
#include <inttypes.h>
#include <string.h>

#include "err.h"
#include "flame_render.h"
#include "renderers.h"

static int name_in(struct flame_timeline *timeline, const char *text, uint32_t *name)
{
    return flame_name(&timeline->names, text, strlen(text), name);
}

/* Ops begin at the same time on the picture or not: as they did. */
static int add_op(struct flame_timeline *timeline, const struct report_exemplar *op, uint32_t rank)
{
    char title[128], detail[96];
    struct flame_track track = {.pid = 1, .tid = rank};
    struct flame_slice slice = {.begin_ns = op->start_ns, .end_ns = op->start_ns + op->latency_ns};
    uint64_t at = op->start_ns;
    snprintf(title, sizeof(title), "%" PRIu32 ". %.100s", rank, op->type);
    snprintf(detail, sizeof(detail), "client %" PRIu64 " tid %" PRIu64, op->client, op->tid);
    int rc = name_in(timeline, "slowest ops", &track.group);
    if (rc == 0)
        rc = name_in(timeline, title, &track.name);
    if (rc == 0)
        rc = flame_timeline_track(timeline, &track, &slice.track);
    if (rc == 0)
        rc = name_in(timeline, op->type, &slice.name);
    if (rc == 0)
        rc = name_in(timeline, "op", &slice.category);
    if (rc == 0)
        rc = name_in(timeline, detail, &slice.detail);
    if (rc == 0)
        rc = flame_timeline_slice(timeline, &slice);
    slice.detail = 0;
    if (rc == 0)
        rc = name_in(timeline, "stage", &slice.category);
    for (size_t i = 0; rc == 0 && i < op->stage_count; i++) {
        slice.begin_ns = at;
        slice.end_ns = at += op->stages[i].ns;
        rc = name_in(timeline, op->stages[i].name, &slice.name);
        if (rc == 0)
            rc = flame_timeline_slice(timeline, &slice);
    }
    return rc;
}

int render_perfetto(const struct report *report, const struct render_options *options, FILE *out)
{
    struct flame_timeline *timeline;
    int rc = flame_timeline_new(&timeline);
    (void)options;
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < report->exemplar_count; i++)
        rc = add_op(timeline, &report->exemplars[i], (uint32_t)i + 1);
    if (rc == 0) {
        flame_timeline_finish(timeline);
        rc = flame_render_perfetto(timeline, out);
    }
    flame_timeline_free(timeline);
    return rc;
}
