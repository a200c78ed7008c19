/* SPDX-License-Identifier: MIT */
/* Profiles: what an analysis has gathered, written to a file and added to another analysis. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_private.h"
#include "analysis_ceph.h"
#include "analysis_frames.h"
#include "err.h"
#include "profile_rows.h"

#define MOST       PROFILE_MAX_NUMBER
#define MOST_PATHS 64

/* What a run of the reader saw, in the order in which it is saved. */
#define READ_COUNTERS(X)                                                                           \
    X(events)                                                                                      \
    X(foreign)                                                                                     \
    X(unknown)                                                                                     \
    X(malformed) X(lost) X(lost_packets) X(begin_ns) X(end_ns) X(late) X(late_after_ns) X(damaged)

#define TRAIL_COUNTERS(X)                                                                          \
    X(joined)                                                                                      \
    X(notes)                                                                                       \
    X(unmatched)                                                                                   \
    X(of_which_before_start)                                                                       \
    X(of_which_after_finish)                                                                       \
    X(at_pauses) X(begun_before) X(traced_ns) X(stamps_refused) X(backwards)

/* What a recording tells of the CPUs. */
#define CPU_FACTS(X)                                                                               \
    X(pid) X(seconds_ns) X(run_ns) X(wait_ns) X(cpus) X(busy_millionths) X(threads) X(ended)

static void save_run(const struct read_counts *counts, struct profile_writer *writer)
{
    profile_put_row(writer, "run");
    profile_put_word(writer, counts->tracer);
    profile_put_number(writer, counts->pid);
    profile_put_number(writer, counts->several_pids);
#define PUT(field) profile_put_number(writer, counts->field);
    READ_COUNTERS(PUT)
#undef PUT
}

static const char *static_tracer(const char *name)
{
    static const char *const names[] = {"", "lttng", "bpf", "ctf", "mixed"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return "ctf";
}

static void load_run(struct read_counts *counts, struct profile_reader *reader)
{
    counts->tracer = static_tracer(profile_word(reader));
    counts->pid = (uint32_t)profile_number(reader, INT32_MAX);
    counts->several_pids = profile_number(reader, 1);
#define TAKE(field) counts->field = profile_number(reader, MOST);
    READ_COUNTERS(TAKE)
#undef TAKE
    if (counts->end_ns < counts->begin_ns)
        profile_wrong(reader, "a run that ends before it begins");
}

static void save_told(const struct read_told *told, struct profile_writer *writer)
{
    if (!told->recorded)
        return;
    profile_put_row(writer, "told");
    profile_put_word(writer, told->daemon);
    profile_put_word(writer, told->version);
    profile_put_word(writer, told->store);
    profile_put_word(writer, told->detail);
    profile_put_word(writer, told->id);
    profile_put_word(writer, told->recording);
    profile_put_number(writer, told->unfinished);
    if (told->cpu.told || told->cpu.several) {
        profile_put_row(writer, "told-cpu");
        profile_put_number(writer, told->cpu.told);
        profile_put_number(writer, told->cpu.several);
#define PUT(field) profile_put_number(writer, (uint64_t)told->cpu.field);
        CPU_FACTS(PUT)
#undef PUT
    }
    for (size_t i = 0; i < told->count_count; i++) {
        profile_put_row(writer, "told-count");
        profile_put_word(writer, told->counts[i].name);
        profile_put_number(writer, told->counts[i].value);
    }
    for (size_t i = 0; i < told->note_count; i++) {
        profile_put_row(writer, "told-note");
        profile_put_word(writer, told->notes[i]);
    }
}

static void take_text(struct profile_reader *reader, char *field, size_t size)
{
    snprintf(field, size, "%s", profile_word(reader));
}

static void load_told(struct read_told *told, struct profile_reader *reader)
{
    told->recorded = true;
    take_text(reader, told->daemon, sizeof(told->daemon));
    take_text(reader, told->version, sizeof(told->version));
    take_text(reader, told->store, sizeof(told->store));
    take_text(reader, told->detail, sizeof(told->detail));
    take_text(reader, told->id, sizeof(told->id));
    take_text(reader, told->recording, sizeof(told->recording));
    told->unfinished = profile_number(reader, MOST);
    if (profile_take_row(reader, "told-cpu")) {
        told->cpu.told = profile_number(reader, 1);
        told->cpu.several = profile_number(reader, 1);
#define TAKE(field) told->cpu.field = (__typeof__(told->cpu.field))profile_number(reader, MOST);
        CPU_FACTS(TAKE)
#undef TAKE
    }
    while (profile_take_row(reader, "told-count")) {
        if (told->count_count == READ_TOLD_COUNTS) {
            profile_wrong(reader, "more than %d counts", READ_TOLD_COUNTS);
            return;
        }
        take_text(reader, told->counts[told->count_count].name, sizeof(told->counts[0].name));
        told->counts[told->count_count++].value = profile_number(reader, MOST);
    }
    while (profile_take_row(reader, "told-note")) {
        if (told->note_count == READ_TOLD_NOTES) {
            profile_wrong(reader, "more than %d notes", READ_TOLD_NOTES);
            return;
        }
        take_text(reader, told->notes[told->note_count++], sizeof(told->notes[0]));
    }
}

static void save_trails(const struct analysis *analysis, struct profile_writer *writer)
{
    struct trail_counts counts = analysis_trail_counts(analysis);
    profile_put_row(writer, "trails");
#define PUT(field) profile_put_number(writer, counts.field);
    TRAIL_COUNTERS(PUT)
#undef PUT
    for (int end = 0; end < TRAIL_END_COUNT; end++) {
        profile_put_row(writer, "trails-ended");
        profile_put_word(writer, trail_end_names[end]);
        profile_put_number(writer, counts.ended[end]);
    }
    for (int i = 0; i < FOLD_ENDED; i++) {
        if (analysis->losses[i] == 0)
            continue;
        profile_put_row(writer, "kernel-count");
        profile_put_number(writer, (uint64_t)i);
        profile_put_number(writer, analysis->losses[i]);
    }
}

static void load_trails(struct analysis *analysis, struct profile_reader *reader)
{
    struct trail_counts counts = {0};
#define TAKE(field) counts.field = profile_number(reader, MOST);
    TRAIL_COUNTERS(TAKE)
#undef TAKE
    while (profile_take_row(reader, "trails-ended")) {
        const char *name = profile_word(reader);
        int end = 0;
        while (end < TRAIL_END_COUNT && strcmp(trail_end_names[end], name) != 0)
            end++;
        uint64_t value = profile_number(reader, MOST);
        if (end < TRAIL_END_COUNT)
            counts.ended[end] = value;
        else
            profile_wrong(reader, "no end of an op that this optrail knows");
    }
    while (profile_take_row(reader, "kernel-count")) {
        uint64_t number = profile_number(reader, FOLD_ENDED - 1);
        analysis->losses[number] += profile_number(reader, MOST);
    }
    trail_counts_add(&analysis->loaded, &counts);
}

/* The paths of the report's ops. */
static int used_paths(const struct analysis *analysis, const struct report *report,
                      struct saved_paths *paths)
{
    for (size_t i = 0; i < analysis->paths.count; i++) {
        const struct path *path = analysis->paths.paths[i];
        bool used = false;
        for (size_t j = 0; j < report->op_count; j++)
            used = used || strcmp(report->ops[j].path, path->name) == 0;
        if (!used)
            continue;
        if (!path->text)
            return err_set(ENOENT,
                           "%s: cannot read it a second time, and a profile holds the path "
                           "files that it needs",
                           path->file);
        if (paths->count == MOST_PATHS)
            return err_set(E2BIG, "more than %d path files in use", MOST_PATHS);
        paths->rows[paths->count++] = path;
    }
    return 0;
}

/* The path of this text: one that is there, or one that is made. */
static int load_path(struct analysis *analysis, struct profile_reader *reader,
                     struct saved_paths *paths)
{
    const char *text = profile_word(reader);
    struct path *path;
    if (profile_reader_result(reader) < 0)
        return profile_reader_result(reader);
    if (paths->count == MOST_PATHS)
        return profile_wrong(reader, "more than %d path files", MOST_PATHS);
    for (size_t i = 0; i < analysis->paths.count; i++) {
        const struct path *known = analysis->paths.paths[i];
        if (!known->text || strcmp(known->text, text) != 0)
            continue;
        paths->rows[paths->count++] = known;
        return 0;
    }
    int rc = path_parse_text("a path file in it", text, &path);
    if (rc < 0) {
        char message[400];
        snprintf(message, sizeof(message), "%s", err_message());
        return profile_wrong(reader, "%s", message);
    }
    path->saved = true;
    rc = path_set_add(&analysis->paths, path);
    if (rc == 0)
        paths->rows[paths->count++] = path;
    return rc;
}

int analysis_save(struct analysis *analysis, const struct read_counts *counts, const char *damage,
                  const struct report *report, const char *file)
{
    const struct path *rows[MOST_PATHS];
    struct saved_paths paths = {.rows = rows};
    struct profile_writer *writer = NULL;
    int rc = used_paths(analysis, report, &paths);
    if (rc == 0)
        rc = profile_writer_new(&writer);
    if (rc < 0)
        return rc;
    save_run(counts, writer);
    if (counts->jumps > 0) {
        profile_put_row(writer, "clock");
        profile_put_number(writer, counts->jumps);
        profile_put_number(writer, counts->jumped_ns);
        profile_put_number(writer, counts->jump_after_ns);
    }
    if (damage) {
        profile_put_row(writer, "damage");
        profile_put_word(writer, damage);
    }
    save_told(&counts->told, writer);
    analysis_ceph_save(&counts->ceph, writer);
    analysis_frames_save(&counts->frames, writer);
    save_trails(analysis, writer);
    for (size_t i = 0; i < paths.count; i++) {
        profile_put_row(writer, "path");
        profile_put_word(writer, rows[i]->text);
    }
    for (size_t i = 0; i < analysis->fold_count; i++) {
        const struct fold *fold = &analysis->folds[i];
        if (!fold->class->save)
            continue;
        profile_put_row(writer, "fold");
        profile_put_word(writer, fold->class->name);
        fold->class->save(fold->state, &paths, writer);
    }
    rc = profile_writer_save(writer, file);
    profile_writer_free(writer);
    return rc;
}

static int load_folds(struct analysis *analysis, const struct saved_paths *paths,
                      struct profile_reader *reader)
{
    int rc = 0;
    while (rc == 0 && profile_take_row(reader, "fold")) {
        const char *name = profile_word(reader);
        size_t i = 0;
        while (i < analysis->fold_count && (!analysis->folds[i].class->load ||
                                            strcmp(analysis->folds[i].class->name, name) != 0))
            i++;
        if (profile_reader_result(reader) < 0)
            break;
        if (i == analysis->fold_count)
            return profile_wrong(reader,
                                 "'%.40s' is nothing that this optrail knows: use a newer "
                                 "one",
                                 name);
        rc = analysis->folds[i].class->load(analysis->folds[i].state, paths, reader);
    }
    return rc;
}

int analysis_load(struct analysis *analysis, struct profile_reader *reader,
                  struct read_counts *counts, char *damage, size_t damage_size)
{
    const struct path *rows[MOST_PATHS];
    struct saved_paths paths = {.rows = rows};
    *counts = (struct read_counts){.tracer = ""};
    if (profile_take_row(reader, "run"))
        load_run(counts, reader);
    if (profile_take_row(reader, "clock")) {
        counts->jumps = profile_number(reader, MOST);
        counts->jumped_ns = profile_number(reader, MOST);
        counts->jump_after_ns = profile_number(reader, MOST);
    }
    if (profile_take_row(reader, "damage")) {
        const char *text = profile_word(reader);
        if (!*damage)
            snprintf(damage, damage_size, "%s", text);
    }
    if (profile_take_row(reader, "told"))
        load_told(&counts->told, reader);
    if (profile_take_row(reader, "ceph"))
        analysis_ceph_load(&counts->ceph, reader);
    if (profile_take_row(reader, "frames"))
        analysis_frames_load(&counts->frames, reader);
    if (profile_take_row(reader, "trails"))
        load_trails(analysis, reader);
    int rc = profile_reader_result(reader);
    while (rc == 0 && profile_take_row(reader, "path"))
        rc = load_path(analysis, reader, &paths);
    if (rc == 0)
        rc = load_folds(analysis, &paths, reader);
    return rc < 0 ? rc : profile_reader_end(reader);
}

const struct windows *analysis_windows(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->fold_count; i++)
        if (analysis->folds[i].class == &fold_windows)
            return analysis->folds[i].state;
    return NULL;
}
