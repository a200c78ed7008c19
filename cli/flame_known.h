/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_KNOWN_H
#define OPTRAIL_FLAME_KNOWN_H

#include "flame_files.h"
#include "target.h"

/*
 * Whether --op and --stage can be of any op of the daemons, as their path files have them: what has
 * no such op is not worth a recording. -EINVAL with the message, which says what there is; another
 * negative errno when the path files cannot be read. Reads no process.
 */
int flame_check_known(const struct flame_request *request, const struct target *targets,
                      size_t count);

#endif
