/* SPDX-License-Identifier: MIT */
#include "flame_fold.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "flame_pools.h"

/* Which names match a pattern: each is tried once. */
struct matcher {
    const char *pattern; /* weak; NULL: everything matches */
    uint32_t room;
    signed char *known; /* by name: 1 matches, -1 does not, 0 not tried */
};

enum { MATCH_OP, MATCH_STAGE, MATCH_THREAD, MATCH_REASON, MATCHER_COUNT };

static const enum flame_attribute matched[MATCHER_COUNT] = {
    [MATCH_OP] = FLAME_BY_OP,
    [MATCH_STAGE] = FLAME_BY_STAGE,
    [MATCH_THREAD] = FLAME_BY_THREAD,
    [MATCH_REASON] = FLAME_BY_REASON,
};

struct flame_fold {
    struct flame_options options;
    struct flame_tree *tree; /* weak */
    struct matcher matchers[MATCHER_COUNT];
    uint32_t kind_names[FLAME_KIND_COUNT];
    uint32_t not_known;
    uint32_t pool_room;
    uint32_t *pools; /* by thread name: its pool; 0: not made yet */
    bool has_origin[FLAME_SIDES];
    uint64_t origin_ns[FLAME_SIDES];
    uint32_t seen_kinds;
    struct flame_fold_counts counts;
};

/* Whether the unit is time: of several kinds only if all are measured in it. */
static enum flame_unit unit_of(const struct flame_options *options)
{
    if (options->weight != FLAME_WEIGHT_BY_KIND)
        return options->weight == FLAME_WEIGHT_TIME ? FLAME_NS : FLAME_SAMPLES;
    uint32_t kinds = options->kinds ? options->kinds : 1u << FLAME_cpu;
    if ((kinds & (kinds - 1)) != 0)
        return FLAME_NS;
    return flame_kind_rows[__builtin_ctz(kinds)].unit;
}

int flame_fold_new(const struct flame_options *options, unsigned sides, struct flame_fold **fold,
                   struct flame_tree **tree)
{
    struct flame_fold *made = calloc(1, sizeof(*made));
    if (!made)
        return err_no_memory();
    made->options = *options;
    int result = flame_tree_new(unit_of(options), sides, &made->tree);
    if (result < 0) {
        free(made);
        return result;
    }
    struct flame_names *names = &made->tree->names;
    result = flame_name(names, "[not known]", strlen("[not known]"), &made->not_known);
    for (int i = 0; result == 0 && i < FLAME_KIND_COUNT; i++)
        result = flame_name(names, flame_kind_rows[i].name, strlen(flame_kind_rows[i].name),
                            &made->kind_names[i]);
    if (result < 0) {
        flame_tree_free(made->tree);
        free(made);
        return result;
    }
    made->tree->inverted = options->inverted;
    const char *const patterns[MATCHER_COUNT] = {options->op, options->stage, options->thread,
                                                 options->reason};
    for (int i = 0; i < MATCHER_COUNT; i++)
        made->matchers[i].pattern = patterns[i];
    *fold = made;
    *tree = made->tree;
    return 0;
}

void flame_fold_free(struct flame_fold *fold)
{
    if (!fold)
        return;
    for (int i = 0; i < MATCHER_COUNT; i++)
        free(fold->matchers[i].known);
    free(fold->pools);
    free(fold);
}

void flame_fold_origin(struct flame_fold *fold, unsigned side, uint64_t origin_ns)
{
    fold->has_origin[side] = true;
    fold->origin_ns[side] = origin_ns;
}

/* 1 it matches, 0 it does not, negative errno. */
static int matches(const struct flame_fold *fold, struct matcher *matcher, uint32_t name)
{
    if (!matcher->pattern)
        return 1;
    if (name == 0)
        return 0;
    if (name >= matcher->room) {
        uint32_t room = fold->tree->names.room;
        signed char *known = realloc(matcher->known, room);
        if (!known)
            return err_no_memory();
        memset(known + matcher->room, 0, room - matcher->room);
        matcher->known = known;
        matcher->room = room;
    }
    if (!matcher->known[name])
        matcher->known[name] =
            fnmatch(matcher->pattern, flame_name_text(&fold->tree->names, name), 0) == 0 ? 1 : -1;
    return matcher->known[name] > 0;
}

static bool in_range(struct flame_fold *fold, const struct flame_sample *sample)
{
    const struct flame_options *options = &fold->options;
    if (!options->in_range)
        return true;
    if (sample->begin_ns == 0) {
        fold->counts.untimed += sample->count;
        return false;
    }
    if (!fold->has_origin[sample->side])
        flame_fold_origin(fold, sample->side, sample->begin_ns);
    uint64_t origin = fold->origin_ns[sample->side];
    return sample->begin_ns >= origin && sample->begin_ns - origin >= options->from_ns &&
           sample->begin_ns - origin < options->to_ns;
}

/* The pool of a thread: its name up to the number that tells it from its like. */
static int pool_of(struct flame_fold *fold, uint32_t thread, uint32_t *pool)
{
    struct flame_names *names = &fold->tree->names;
    if (thread >= fold->pool_room) {
        uint32_t room = names->room;
        uint32_t *pools = realloc(fold->pools, room * sizeof(*pools));
        if (!pools)
            return err_no_memory();
        memset(pools + fold->pool_room, 0, (room - fold->pool_room) * sizeof(*pools));
        fold->pools = pools;
        fold->pool_room = room;
    }
    if (!fold->pools[thread]) {
        const char *text = flame_name_text(names, thread);
        size_t length = flame_pool_length(text);
        int result = length ? flame_name(names, text, length, &fold->pools[thread]) : 0;
        if (result < 0)
            return result;
        if (length == 0)
            fold->pools[thread] = fold->not_known;
    }
    *pool = fold->pools[thread];
    return 0;
}

static int attribute_of(struct flame_fold *fold, const struct flame_sample *sample,
                        enum flame_attribute attribute, uint32_t *name)
{
    *name = sample->attributes[attribute];
    if (*name == 0 && attribute == FLAME_BY_KIND)
        *name = fold->kind_names[sample->kind];
    if (*name == 0 && attribute == FLAME_BY_POOL && sample->attributes[FLAME_BY_THREAD])
        return pool_of(fold, sample->attributes[FLAME_BY_THREAD], name);
    if (*name == 0)
        *name = fold->not_known;
    return 0;
}

static int add_to_tree(struct flame_fold *fold, const struct flame_sample *sample)
{
    const struct flame_options *options = &fold->options;
    struct flame_sums sums = {
        .value = fold->tree->unit == FLAME_NS ? sample->value_ns : sample->count,
        .count = sample->count,
    };
    fold->counts.worthless += sums.value == 0 ? sample->count : 0;
    if (options->by_count == 0 && !options->inverted && sample->frame_count > 0)
        return flame_tree_add(fold->tree, sample->side, sample->frames, sample->frame_count, sums);

    uint32_t frames[FLAME_MAX_FRAMES + FLAME_ATTRIBUTE_COUNT + 1];
    size_t count = 0;
    for (; count < options->by_count; count++) {
        int result = attribute_of(fold, sample, options->by[count], &frames[count]);
        if (result < 0)
            return result;
    }
    if (sample->frame_count == 0)
        frames[count++] = fold->not_known;
    for (size_t i = 0; i < sample->frame_count; i++)
        frames[count++] = sample->frames[options->inverted ? sample->frame_count - 1 - i : i];
    return flame_tree_add(fold->tree, sample->side, frames, count, sums);
}

int flame_fold_take(struct flame_fold *fold, const struct flame_sample *sample)
{
    bool wanted = !fold->options.kinds || fold->options.kinds >> sample->kind & 1;
    for (int i = 0; wanted && i < MATCHER_COUNT; i++) {
        int result = matches(fold, &fold->matchers[i], sample->attributes[matched[i]]);
        if (result < 0)
            return result;
        wanted = result;
    }
    if (!wanted || !in_range(fold, sample)) {
        fold->counts.filtered += sample->count;
        return 0;
    }
    fold->counts.taken += sample->count;
    fold->seen_kinds |= 1u << sample->kind;
    return add_to_tree(fold, sample);
}

struct flame_fold_counts flame_fold_counts(const struct flame_fold *fold)
{
    return fold->counts;
}

const struct flame_options *flame_fold_options(const struct flame_fold *fold)
{
    return &fold->options;
}

struct flame_tree *flame_fold_tree(const struct flame_fold *fold)
{
    return fold->tree;
}

int flame_fold_finish(struct flame_fold *fold)
{
    struct flame_tree *tree = fold->tree;
    int result = 0;
    /* of one kind only: then it is known what was counted */
    if (fold->seen_kinds && (fold->seen_kinds & (fold->seen_kinds - 1)) == 0)
        result = flame_tree_set(&tree->counted,
                                flame_kind_rows[__builtin_ctz(fold->seen_kinds)].counted);
    if (result == 0 && fold->counts.worthless > 0)
        result = flame_tree_note(tree,
                                 "%" PRIu64 " %s have no time of their own and are drawn without "
                                 "width (--weight count counts them)",
                                 fold->counts.worthless, tree->counted);
    if (result == 0 && fold->counts.untimed > 0)
        result = flame_tree_note(tree,
                                 "%" PRIu64 " %s are left out of the time range: it is not known "
                                 "when they were",
                                 fold->counts.untimed, tree->counted);
    if (result == 0 && tree->cut_deep > 0)
        result = flame_tree_note(tree,
                                 "%" PRIu64 " %s had more than %u frames: the innermost are "
                                 "left out",
                                 tree->cut_deep, tree->counted, FLAME_MAX_FRAMES);
    if (result == 0 && tree->cut_room > 0)
        result =
            flame_tree_note(tree,
                            "%" PRIu64 " %s had stacks for which there was no room any "
                            "more (%u frames): they count at the frames that there is room for",
                            tree->cut_room, tree->counted, FLAME_MAX_NODES);
    return result == 0 ? flame_tree_finish(tree) : result;
}
