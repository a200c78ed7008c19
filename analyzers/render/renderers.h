/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RENDERERS_H
#define OPTRAIL_RENDERERS_H

#include <stdbool.h>

#include "render.h"

/* The renderers, as in struct renderer; one file each. */
int render_text(const struct report *report, const struct render_options *options, FILE *out);
int render_locks(const struct report *report, const struct render_options *options, FILE *out);
int render_json(const struct report *report, const struct render_options *options, FILE *out);
int render_html(const struct report *report, const struct render_options *options, FILE *out);
int render_prometheus(const struct report *report, const struct render_options *options, FILE *out);
int render_otlp(const struct report *report, const struct render_options *options, FILE *out);
int render_csv(const struct report *report, const struct render_options *options, FILE *out);
int render_perfetto(const struct report *report, const struct render_options *options, FILE *out);

#endif
