/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "real_calls.h"
#include "wait_recorder.h"
#include "wrappers.h"

/* A program with one thread waits for nobody, and may fork: LTTng's threads would be lost. So LTTng
 * comes in just before the second thread does. Its own threads come by here, too. */
EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*run)(void *), void *argument)
{
    recorder_start();
    return REAL_CALL(create)(thread, attributes, run, argument);
}
