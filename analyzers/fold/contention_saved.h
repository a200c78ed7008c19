/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CONTENTION_SAVED_H
#define OPTRAIL_CONTENTION_SAVED_H

#include "contention.h"
#include "fold.h"

/* `save` and `load` of the contention fold, whose state is a struct contention. */
void contention_save(void *state, const struct saved_paths *paths, struct profile_writer *writer);
int contention_load(void *state, const struct saved_paths *paths, struct profile_reader *reader);

#endif
