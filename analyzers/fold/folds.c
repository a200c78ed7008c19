/* SPDX-License-Identifier: MIT */
#include "fold.h"

const struct fold_class *const fold_classes[] = {
    &fold_stages,     &fold_clients, &fold_peers, &fold_exemplars,
    &fold_contention, &fold_verdict, NULL};
