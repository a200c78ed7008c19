/* SPDX-License-Identifier: MIT */
/* Chrome's trace event format, which Perfetto reads: slices as complete events, arrows as flows. */
#include <inttypes.h>

#include "flame_out.h"
#include "flame_render.h"

/* The format's times are microseconds; the digits behind the point are ns. */
static void write_time(const char *key, uint64_t ns, FILE *out)
{
    fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void write_name(const struct flame_timeline *timeline, uint32_t name, FILE *out)
{
    flame_out_json(flame_name_text(&timeline->names, name), out);
}

static void write_place(const struct flame_track *track, FILE *out)
{
    fprintf(out, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, track->pid, track->tid);
}

/* Chrome's own traces put names into this category, and some readers want one of every event. */
#define METADATA "\"ph\":\"M\",\"cat\":\"__metadata\""

static void write_tracks(const struct flame_timeline *timeline, FILE *out)
{
    for (size_t i = 0; i < timeline->track_count; i++) {
        const struct flame_track *track = &timeline->tracks[i];
        bool group_told = false;
        for (size_t j = 0; j < i && !group_told; j++)
            group_told = timeline->tracks[j].pid == track->pid;
        if (!group_told) {
            fprintf(out, "%s\n{" METADATA ",\"name\":\"process_name\"", i ? "," : "");
            write_place(track, out);
            fputs(",\"args\":{\"name\":", out);
            write_name(timeline, track->group, out);
            fputs("}}", out);
        }
        fputs(",\n{" METADATA ",\"name\":\"thread_name\"", out);
        write_place(track, out);
        fputs(",\"args\":{\"name\":", out);
        write_name(timeline, track->name, out);
        fputs("}}", out);
    }
}

static void write_slice(const struct flame_timeline *timeline, const struct flame_slice *slice,
                        FILE *out)
{
    fputs(",\n{\"ph\":\"X\",\"name\":", out);
    write_name(timeline, slice->name, out);
    fputs(",\"cat\":", out);
    write_name(timeline, slice->category, out);
    write_place(&timeline->tracks[slice->track], out);
    write_time("ts", slice->begin_ns - timeline->origin_ns, out);
    write_time("dur", slice->end_ns - slice->begin_ns, out);
    if (slice->detail || slice->cut) {
        fputs(",\"args\":{", out);
        if (slice->detail) {
            fputs("\"detail\":", out);
            write_name(timeline, slice->detail, out);
        }
        if (slice->cut)
            fputs(slice->detail ? ",\"cut\":true" : "\"cut\":true", out);
        fputc('}', out);
    }
    fputc('}', out);
}

static void write_flow_end(const struct flame_timeline *timeline, size_t number, bool start,
                           FILE *out)
{
    const struct flame_flow *flow = &timeline->flows[number];
    uint64_t at = start ? flow->from_ns : flow->to_ns;
    fprintf(out, ",\n{\"ph\":\"%s\",\"id\":%zu,\"cat\":\"flow\",\"name\":",
            start ? "s" : "f\",\"bp\":\"e", number + 1);
    write_name(timeline, flow->name, out);
    write_place(&timeline->tracks[start ? flow->from_track : flow->to_track], out);
    write_time("ts", at > timeline->origin_ns ? at - timeline->origin_ns : 0, out);
    fputc('}', out);
}

int flame_render_perfetto(const struct flame_timeline *timeline, FILE *out)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"optrail " OPTRAIL_VERSION "\"",
          out);
    for (size_t i = 0; i < timeline->note_count; i++) {
        fprintf(out, ",\"note %zu\":", i + 1);
        flame_out_json(timeline->notes[i], out);
    }
    fputs("},\n\"traceEvents\":[", out);
    write_tracks(timeline, out);
    for (size_t i = 0; i < timeline->slice_count; i++)
        write_slice(timeline, &timeline->slices[i], out);
    for (size_t i = 0; i < timeline->flow_count; i++) {
        write_flow_end(timeline, i, true, out);
        write_flow_end(timeline, i, false, out);
    }
    fputs("\n]}\n", out);
    return flame_out_check(out);
}
