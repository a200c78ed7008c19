/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>

#include "real_calls.h"
#include "wait_recorder.h"
#include "wrappers.h"

struct start {
    void *(*run)(void *);
    void *argument;
};

/* Where a thread begins: it has none of the program's locks yet. */
static void *run_prepared(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    recorder_prepare_thread();
    return start.run(start.argument);
}

/* A program with one thread waits for nobody, and may fork: LTTng's threads would be lost. So LTTng
 * comes in just before the second thread does. Its own threads come by here, too. */
EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*run)(void *), void *argument)
{
    recorder_start();
    struct start *start = recorder_can_prepare() ? malloc(sizeof(*start)) : NULL;
    if (!start) /* what such a thread waits for is counted, not told */
        return REAL_CALL(create)(thread, attributes, run, argument);
    *start = (struct start){run, argument};
    int result = REAL_CALL(create)(thread, attributes, run_prepared, start);
    if (result != 0)
        free(start);
    return result;
}
