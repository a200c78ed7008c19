/* SPDX-License-Identifier: MIT */
#include "fold.h"
#include "profile_rows.h"

const struct fold_class *const fold_classes[] = {
    &fold_stages, &fold_clients,    &fold_peers,   &fold_exemplars, &fold_tails, &fold_stalls,
    &fold_rhythm, &fold_contention, &fold_windows, &fold_verdict,   NULL};

size_t saved_path_number(const struct saved_paths *paths, const struct path *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->rows[i] == path)
            return i + 1;
    return 0;
}

const struct path *saved_path_load(const struct saved_paths *paths, struct profile_reader *reader)
{
    size_t number = profile_number(reader, paths->count);
    return number ? paths->rows[number - 1] : NULL;
}
