/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SCALE_RENDER_H
#define OPTRAIL_SCALE_RENDER_H

#include <stdio.h>

#include "scaling.h"

/* The scaling law of sweeps, for people and for programs (docs/scale.md lists the keys). `width`:
 * columns; 0: 100. Negative errno with the message when it cannot be written. */
int render_scale_text(const struct scaling *scaling, int width, FILE *out);
int render_scale_json(const struct scaling *scaling, FILE *out);

#endif
