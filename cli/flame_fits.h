/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_FITS_H
#define OPTRAIL_FLAME_FITS_H

#include "flame_files.h"
#include "flame_render.h"

/* Where the samples come from. */
enum flame_source { FLAME_OF_DAEMONS, FLAME_OF_TRACES, FLAME_OF_FILES, FLAME_SOURCE_COUNT };

/* What was given of the options that flame_request does not tell. */
struct flame_given {
    bool seconds, rate, ops, kind, weight, title;
};

/* An option that cannot change the picture is wrong use: -EINVAL with the message that says what it
 * is for. What a file of stacks may know, flame_read_files() checks. */
int flame_options_fit(const struct flame_request *request, const struct flame_given *given,
                      enum flame_source source, const struct flame_renderer *renderer);

#endif
