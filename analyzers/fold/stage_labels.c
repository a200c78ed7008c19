/* SPDX-License-Identifier: MIT */
#include "stage_labels.h"

#include <string.h>

/* Whether an op in this stage waits for another thread. A stage of the kind "wait" may also be one
 * in which the op's own thread waits. */
static bool hands_over(const struct flows *flows, const struct path_stage *stage)
{
    if (stage->kind != STAGE_WAIT)
        return false;
    for (size_t i = 0; i < flows->queue_count; i++) {
        const struct flow_queue *queue = &flows->queues[i];
        if (queue->from == stage->from && queue->to == stage->to)
            return 2 * queue->own <= queue->ops;
    }
    return true;
}

static void add_path(struct stage_labels *labels, const struct path *path,
                     const struct flows *flows)
{
    for (size_t i = 0; i < labels->count; i++)
        if (labels->paths[i] == path)
            return;
    if (labels->count == LABEL_PATHS)
        return;
    size_t number = labels->count++;
    labels->paths[number] = path;
    labels->queues[number] = 0;
    for (size_t i = 0; i < POINT_COUNT; i++)
        labels->order[number][i] = -1;
    for (size_t i = 0; i < path->point_count; i++)
        labels->order[number][path->points[i]] = (int16_t)i;
    for (size_t i = 0; i < path->stage_count; i++)
        if (hands_over(flows, &path->stages[i]))
            labels->queues[number] |= 1ull << i;
}

void stage_labels_init(struct stage_labels *labels, const struct report *report,
                       const struct path_set *paths, const struct flows *flows)
{
    labels->count = 0;
    for (size_t i = 0; i < report->op_count; i++)
        for (size_t j = 0; j < paths->count; j++)
            if (strcmp(paths->paths[j]->name, report->ops[i].path) == 0)
                add_path(labels, paths->paths[j], flows);
}

static struct stage_label label_in(const struct stage_labels *labels, size_t number, int from,
                                   int to)
{
    const struct path *path = labels->paths[number];
    const int16_t *order = labels->order[number];
    struct stage_label label = {0};
    int smallest = INT16_MAX;
    for (size_t i = 0; i < path->stage_count; i++) {
        const struct path_stage *stage = &path->stages[i];
        int begin = order[stage->from], end = order[stage->to];
        if (labels->queues[number] >> i & 1) {
            /* the op went through a whole queue in between: this is another op */
            if (begin >= from && end <= to)
                return (struct stage_label){.idle = true};
            continue;
        }
        if (path_stage_counts_peers(stage)) /* the op waits for others, not this thread */
            continue;
        if (begin <= from && end >= to && end - begin <= smallest) {
            smallest = end - begin;
            label.stage = stage;
        }
    }
    return label;
}

struct stage_label stage_label_of(const struct stage_labels *labels, uint16_t from, uint16_t to)
{
    struct stage_label label = {.idle = true};
    if (from >= POINT_COUNT)
        return label;
    for (size_t i = 0; i < labels->count; i++) {
        int begin = labels->order[i][from];
        int end = to < POINT_COUNT ? labels->order[i][to] : begin + 1;
        if (begin < 0 || end < 0)
            continue;
        if (end <= begin)
            return (struct stage_label){.idle = true};
        label = label_in(labels, i, begin, end);
        if (label.idle || label.stage)
            return label;
    }
    return label;
}

const struct path_stage *stage_between(const struct stage_labels *labels, uint16_t from,
                                       uint16_t to)
{
    for (size_t i = 0; i < labels->count; i++)
        for (size_t j = 0; j < labels->paths[i]->stage_count; j++) {
            const struct path_stage *stage = &labels->paths[i]->stages[j];
            if (stage->from == from && stage->to == to)
                return stage;
        }
    return NULL;
}

bool stage_is(const struct stage_labels *labels, const char *name, enum stage_kind kind)
{
    for (size_t i = 0; i < labels->count; i++)
        for (size_t j = 0; j < labels->paths[i]->stage_count; j++)
            if (labels->paths[i]->stages[j].kind == kind &&
                strcmp(labels->paths[i]->stages[j].name, name) == 0)
                return true;
    return false;
}
