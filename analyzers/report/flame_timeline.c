/* SPDX-License-Identifier: MIT */
#include "flame_timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

int flame_timeline_new(struct flame_timeline **timeline)
{
    struct flame_timeline *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    int result = flame_names_init(&made->names);
    if (result < 0) {
        flame_timeline_free(made);
        return result;
    }
    made->origin_ns = UINT64_MAX;
    *timeline = made;
    return 0;
}

void flame_timeline_free(struct flame_timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->note_count; i++)
        free(timeline->notes[i]);
    free((void *)timeline->notes);
    free(timeline->tracks);
    free(timeline->slices);
    free(timeline->flows);
    flame_names_free(&timeline->names);
    free(timeline);
}

/* Room for one more row; the rows' number grows in powers of two. */
static int make_room(void **rows, size_t count, size_t size)
{
    if (count & (count - 1))
        return 0;
    void *more = realloc(*rows, (count ? 2 * count : 1) * size);
    if (!more)
        return err_no_memory();
    *rows = more;
    return 0;
}

int flame_timeline_track(struct flame_timeline *timeline, const struct flame_track *track,
                         uint32_t *number)
{
    for (size_t i = timeline->track_count; i-- > 0;)
        if (timeline->tracks[i].pid == track->pid && timeline->tracks[i].tid == track->tid) {
            *number = (uint32_t)i;
            return 0;
        }
    int result =
        make_room((void **)&timeline->tracks, timeline->track_count, sizeof(*timeline->tracks));
    if (result < 0)
        return result;
    *number = (uint32_t)timeline->track_count;
    timeline->tracks[timeline->track_count++] = *track;
    return 0;
}

int flame_timeline_slice(struct flame_timeline *timeline, const struct flame_slice *slice)
{
    int result =
        make_room((void **)&timeline->slices, timeline->slice_count, sizeof(*timeline->slices));
    if (result < 0)
        return result;
    timeline->slices[timeline->slice_count++] = *slice;
    if (slice->begin_ns < timeline->origin_ns)
        timeline->origin_ns = slice->begin_ns;
    return 0;
}

int flame_timeline_flow(struct flame_timeline *timeline, const struct flame_flow *flow)
{
    int result =
        make_room((void **)&timeline->flows, timeline->flow_count, sizeof(*timeline->flows));
    if (result == 0)
        timeline->flows[timeline->flow_count++] = *flow;
    return result;
}

int flame_timeline_note(struct flame_timeline *timeline, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    int result =
        make_room((void **)&timeline->notes, timeline->note_count, sizeof(*timeline->notes));
    char *note = result == 0 ? strdup(text) : NULL;
    if (result == 0 && !note)
        return err_no_memory();
    if (result == 0)
        timeline->notes[timeline->note_count++] = note;
    return result;
}

static int by_place(const void *left, const void *right)
{
    const struct flame_slice *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Whether a slice of the track is under way at this time. */
static bool is_covered(const struct flame_timeline *timeline, uint32_t track, uint64_t time_ns)
{
    for (size_t i = 0; i < timeline->slice_count; i++) {
        const struct flame_slice *slice = &timeline->slices[i];
        if (slice->track == track && time_ns >= slice->begin_ns && time_ns < slice->end_ns)
            return true;
    }
    return false;
}

static void nest(struct flame_timeline *timeline)
{
    uint64_t around[64]; /* ends of the slices that are open */
    size_t depth = 0;
    if (timeline->slice_count > 0)
        qsort(timeline->slices, timeline->slice_count, sizeof(*timeline->slices), by_place);
    for (size_t i = 0; i < timeline->slice_count; i++) {
        struct flame_slice *slice = &timeline->slices[i];
        if (i > 0 && slice->track != timeline->slices[i - 1].track)
            depth = 0;
        while (depth > 0 && around[depth - 1] <= slice->begin_ns)
            depth--;
        if (depth > 0 && slice->end_ns > around[depth - 1]) {
            slice->end_ns = around[depth - 1];
            slice->cut = true;
        }
        if (depth < sizeof(around) / sizeof(around[0]))
            around[depth++] = slice->end_ns;
    }
}

void flame_timeline_finish(struct flame_timeline *timeline)
{
    size_t kept = 0;
    nest(timeline);
    for (size_t i = 0; i < timeline->flow_count; i++) {
        const struct flame_flow *flow = &timeline->flows[i];
        if (is_covered(timeline, flow->from_track, flow->from_ns) &&
            is_covered(timeline, flow->to_track, flow->to_ns))
            timeline->flows[kept++] = *flow;
    }
    timeline->flow_count = kept;
}
