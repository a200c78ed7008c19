/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_OSD_H
#define MINISTORE_OSD_H

#include "daemon_options.h"
#include "request.h"

/* The daemon's middle: what happens to a request between the messenger and the store. The process
 * has one. */

/* Opens the store (a filestore replays its journal) and starts the workers. 0, or -1 after a
 * message; osd_stop cleans up in both cases. */
int osd_start(const struct daemon_options *options);

/* Works off what is queued, closes the store. 0, or -1 after a message. */
int osd_stop(void);

/* The messenger's dispatch: takes the request. */
void osd_dispatch(void *context, struct request *request);

#endif
