/* SPDX-License-Identifier: MIT */
/*
 * The output of `perf script`, with the fields that it prints by default or with others (-F): a
 * line that tells of a sample, behind it a line for each frame, the innermost first, and an empty
 * line. Without call chains the one frame stands in the same line.
 */
#include "flame_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "perf_lines.h"

/* Frames that came before, by what follows their address: most come again and again. */
enum { KNOWN_FRAMES = 4096 };

struct known_frame {
    uint32_t hash;
    uint16_t length; /* 0: none */
    uint16_t unused;
    uint32_t name;
    char text[244];
};

struct perf_state {
    struct flame_lines *lines;
    const struct flame_read_options *options;
    struct flame_fold *fold;
    struct flame_read_counts *counts;
    bool headless;  /* samples have no first line: they begin behind an empty one */
    bool open;      /* a sample was begun */
    bool one_line;  /* the last one was a line of its own: its source line may follow */
    bool addresses; /* its frames have some */
    bool wanted;
    struct perf_header header;
    uint32_t thread;
    size_t frame_count;                /* of those that the sample has */
    uint32_t frames[FLAME_MAX_FRAMES]; /* from the end on: the innermost comes first */
    char clean[PERF_NAME_MAX];
    struct known_frame known[KNOWN_FRAMES];
};

/* Whether the sample's event is the one that is asked for, or the first one that there was. */
static bool event_wanted(struct perf_state *state)
{
    const char *event = state->header.event;
    struct flame_read_counts *counts = state->counts;
    if (!*event)
        return true;
    if (state->options->event) {
        size_t length = strlen(state->options->event);
        if (strncmp(event, state->options->event, length) != 0 ||
            (event[length] && event[length] != ':'))
            return false;
        memcpy(counts->event, event, sizeof(counts->event));
        return true;
    }
    if (!*counts->event)
        memcpy(counts->event, event, sizeof(counts->event));
    return strcmp(counts->event, event) == 0;
}

static int close_sample(struct perf_state *state)
{
    if (!state->open)
        return 0;
    state->open = false;
    if (!state->wanted) {
        state->counts->other_events++;
        return 0;
    }
    state->counts->no_stack += state->frame_count == 0;
    state->counts->samples++;
    const char *event = state->header.event;
    bool clock = strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
    size_t kept = state->frame_count < FLAME_MAX_FRAMES ? state->frame_count : FLAME_MAX_FRAMES;
    if (state->frame_count > FLAME_MAX_FRAMES)
        flame_fold_tree(state->fold)->cut_deep++;
    struct flame_sample sample = {
        .frame_count = kept,
        .frames = state->frames + FLAME_MAX_FRAMES - kept,
        .kind = FLAME_cpu,
        .side = state->options->side,
        .begin_ns = state->header.time_ns,
        .value_ns = clock ? state->header.period : 0,
        .count = 1,
    };
    sample.attributes[FLAME_BY_THREAD] = state->thread;
    int result = flame_fold_take(state->fold, &sample);
    if (result != -EOVERFLOW)
        return result;
    flame_damage_add(&state->lines->damage, state->lines->line,
                     "the sum of all would be beyond 2^64");
    return 0;
}

static int add_frame(struct perf_state *state, const struct perf_frame *frame)
{
    const char *name = frame->name;
    size_t length = frame->length;
    if (state->frame_count++ >= FLAME_MAX_FRAMES)
        return 0;
    if (!frame->clean) {
        length = frame->of_module ? perf_module_tidy(name, length, state->clean)
                                  : perf_name_tidy(name, length, state->clean);
        name = state->clean;
    }
    return flame_name(&flame_fold_tree(state->fold)->names, name, length,
                      &state->frames[FLAME_MAX_FRAMES - state->frame_count]);
}

/* A frame behind an address. 1: it was added; 0: it is none. */
static int add_known_frame(struct perf_state *state, const char *text, size_t length)
{
    struct flame_names *names = &flame_fold_tree(state->fold)->names;
    uint32_t hash = flame_names_hash(names, text, length);
    struct known_frame *known = &state->known[hash % KNOWN_FRAMES];
    struct perf_frame frame;
    if (length > 0 && known->hash == hash && known->length == length &&
        memcmp(known->text, text, length) == 0) {
        if (state->frame_count++ < FLAME_MAX_FRAMES)
            state->frames[FLAME_MAX_FRAMES - state->frame_count] = known->name;
        return 1;
    }
    if (!perf_frame_rest(text, length, true, &frame))
        return 0;
    int result = add_frame(state, &frame);
    if (result < 0)
        return result;
    if (length <= sizeof(known->text) && state->frame_count <= FLAME_MAX_FRAMES) {
        *known = (struct known_frame){.hash = hash, .length = (uint16_t)length};
        known->name = state->frames[FLAME_MAX_FRAMES - state->frame_count];
        memcpy(known->text, text, length);
    }
    return 1;
}

static int begin_sample(struct perf_state *state)
{
    struct perf_frame frame;
    state->open = true;
    state->addresses = false;
    state->one_line = false;
    state->frame_count = 0;
    state->wanted = event_wanted(state);
    int result = flame_name(&flame_fold_tree(state->fold)->names, state->header.comm,
                            state->header.comm_length, &state->thread);
    /* a sample without a call chain is a line of its own */
    if (result == 0 && state->header.rest_length > 0 &&
        perf_frame_parse(state->header.rest, state->header.rest_length, &frame) &&
        frame.has_address) {
        result = state->wanted ? add_frame(state, &frame) : 0;
        if (result == 0)
            result = close_sample(state);
        state->one_line = true;
    }
    return result;
}

/* Behind a sample that is a line of its own: what has no address tells of it, its source line. */
static bool is_source_line(const struct perf_state *state, const char *text, size_t length)
{
    bool has_address;
    perf_frame_split(&text, &length, &has_address);
    return state->one_line && !state->open && !has_address && length > 0;
}

static int take_line(struct perf_state *state, const char *text, size_t length)
{
    struct perf_frame frame;
    bool indented = *text == ' ' || *text == '\t';
    if (!indented || !state->open) {
        int result = close_sample(state);
        if (result < 0)
            return result;
        if (perf_header_parse(text, length, indented, &state->header))
            return begin_sample(state);
        if (indented && is_source_line(state, text, length))
            return 0;
        if (state->headless && perf_frame_parse(text, length, &frame)) {
            result = begin_sample(state);
            if (result == 0)
                result = add_frame(state, &frame);
            /* frames of call chains stand behind a tab */
            return result == 0 && *text != '\t' ? close_sample(state) : result;
        }
        flame_damage_add(&state->lines->damage, state->lines->line,
                         indented ? "a frame without a sample" : "not a sample's first line");
        return 0;
    }
    if (!state->wanted)
        return 0;
    bool has_address;
    perf_frame_split(&text, &length, &has_address);
    if (has_address && (state->addresses || state->frame_count == 0)) {
        state->addresses = true;
        int result = add_known_frame(state, text, length);
        return result < 0 ? result : 0;
    }
    if (!perf_frame_rest(text, length, has_address, &frame)) {
        flame_damage_add(&state->lines->damage, state->lines->line, "not a frame");
        return 0;
    }
    /* what has none where others have one tells of the frame before: its source line */
    return state->addresses ? 0 : add_frame(state, &frame);
}

static bool is_blank(const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return length == 0;
}

/* What the first lines of a file are. */
struct beginning {
    bool headers;  /* some are the first lines of samples */
    size_t frames; /* so many are frames, or samples with one */
    size_t heads;  /* so many can be nothing but the first lines of samples */
};

static struct beginning look_at(const char *text, size_t length)
{
    struct beginning found = {0};
    struct perf_header header;
    struct perf_frame frame;
    for (int lines = 0; length > 0 && lines < 1000; lines++) {
        const char *end = memchr(text, '\n', length);
        size_t line = end ? (size_t)(end - text) : length;
        bool indented = line > 0 && (*text == ' ' || *text == '\t');
        if (line > 0 && *text != '#' && perf_header_parse(text, line, indented, &header)) {
            found.headers = true;
            found.heads += perf_header_parse(text, line, true, &header);
            found.frames += header.rest_length > 0 &&
                            perf_frame_parse(header.rest, header.rest_length, &frame) &&
                            frame.has_address;
        } else if (indented && perf_frame_parse(text, line, &frame)) {
            bool named = frame.has_address && frame.length > 0 && frame.name[0] != '[';
            found.frames += frame.has_module || named || (*text == '\t' && frame.has_address);
        }
        line += end ? 1 : 0;
        text += line;
        length -= line;
    }
    return found;
}

static size_t looks_like(const char *text, size_t length)
{
    struct beginning found = look_at(text, length);
    return found.frames > 0 ? found.frames + found.heads : 0;
}

static int read_all(struct flame_lines *lines, const struct flame_read_options *options,
                    struct flame_fold *fold, struct flame_read_counts *counts)
{
    struct perf_state *state = calloc(1, sizeof(*state));
    const char *text;
    size_t length;
    int result;

    if (!state)
        return err_no_memory();
    state->lines = lines;
    state->options = options;
    state->fold = fold;
    state->counts = counts;
    result = flame_lines_peek(lines, &text, &length);
    if (result == 0)
        state->headless = !look_at(text, length).headers;
    while (result == 0 && (result = flame_lines_next(lines, &text, &length)) > 0) {
        if ((lines->line & 0xffff) == 0 && options->progress)
            options->progress(options->progress_context, lines->bytes);
        if (options->stop && *options->stop)
            break;
        if (length > 0 && *text == '#' && !state->open) {
            result = 0;
            continue;
        }
        result = is_blank(text, length) ? close_sample(state) : take_line(state, text, length);
    }
    if (result >= 0)
        result = close_sample(state);
    counts->damage = lines->damage;
    free(state);
    return result < 0 ? result : 0;
}

const struct flame_reader flame_read_perf = {
    .name = "perf",
    .text = "the output of perf script",
    .attributes = 1u << FLAME_BY_KIND | 1u << FLAME_BY_POOL | 1u << FLAME_BY_THREAD,
    .timed = true,
    .events = true,
    .looks_like = looks_like,
    .read = read_all,
};
