/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WRAPPERS_H
#define OPTRAIL_WRAPPERS_H

#include <pthread.h>

#define EXPORTED __attribute__((visibility("default")))

/* What a condition variable does to its mutex. */
void note_mutex_released(pthread_mutex_t *mutex) __attribute__((visibility("hidden")));
void note_mutex_taken(pthread_mutex_t *mutex) __attribute__((visibility("hidden")));

#endif
