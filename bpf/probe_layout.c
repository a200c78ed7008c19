/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "probe_map.h"

const char *const probe_detail_names[DETAIL_COUNT] = {"", "basic", "standard", "deep"};

int probe_detail_by_name(const char *name)
{
    for (int i = DETAIL_BASIC; i < DETAIL_COUNT; i++)
        if (strcmp(probe_detail_names[i], name) == 0)
            return i;
    return err_set(EINVAL, "unknown level of detail '%s': basic, standard and deep are there",
                   name);
}

/* The fields that rows may ask for. */
static const char *const field_names[] = {
    "request.client",
    "request.transaction",
    "progress.request",
    "replica.request",
    "shard.request",
    "store_op.sequence",
    "message.tid",
    "message.recv_stamp",
    "message.dispatch_stamp",
    "message.throttle_stamp",
    "message.recv_complete_stamp",
    "request.message",
    "message.source",
    "hobject.caches",
    "objecter_op.tid",
    "reply.result",
    "message.data_len",
    "gather.request",
    "journal.writing_seq",
    "journaled_ahead.op",
};
_Static_assert(sizeof(field_names) / sizeof(field_names[0]) <= PROBE_FIELDS, "room for the fields");

int probe_field_by_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(field_names) / sizeof(field_names[0]); i++)
        if (strlen(field_names[i]) == length && strncmp(field_names[i], name, length) == 0)
            return (int)i;
    return -ENOENT;
}

static int place_fields(struct uprobe_fetch *fetch, const struct probe_layout *layout)
{
    for (int i = 0; i < UPROBE_MAX_LOADS; i++) {
        int field = fetch->offsets[i] - PROBE_FIELD;
        if (field < 0 || field >= PROBE_FIELDS)
            continue;
        if (!layout)
            return err_set(ENOENT, "where %s lies is not known for this build", field_names[field]);
        if (layout->offsets[field] < 0)
            return err_set(ENOENT, "the map does not tell where %s lies in this build",
                           field_names[field]);
        fetch->offsets[i] = layout->offsets[field];
    }
    return 0;
}

bool probe_row_is_needless(const struct probe_row *row, const struct probe_layout *layout)
{
    return row->without >= 0 && layout && layout->offsets[row->without] >= 0;
}

int probe_row_site(const struct probe_row *row, const struct probe_layout *layout,
                   struct uprobe_site *site)
{
    *site = row->site;
    struct uprobe_fetch *fetches[] = {&site->key,  &site->arg0,   &site->arg1,
                                      &site->when, &site->length, &site->text};
    int error = 0;
    if (row->needs >= 0 && (!layout || layout->offsets[row->needs] < 0))
        return err_set(ENOENT, "where %s lies is not known for this build",
                       field_names[row->needs]);
    for (size_t i = 0; !error && i < sizeof(fetches) / sizeof(fetches[0]); i++)
        error = place_fields(fetches[i], layout);
    return error;
}

const struct probe_layout *probe_map_layout(const struct probe_map *map, const char *build_id)
{
    for (size_t i = 0; i < map->layout_count; i++)
        if (strcmp(map->layouts[i].build_id, build_id) == 0)
            return &map->layouts[i];
    return NULL;
}
