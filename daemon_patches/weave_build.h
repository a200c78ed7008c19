/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_WEAVE_BUILD_H
#define OPTRAIL_WEAVE_BUILD_H

#include "weave_file.h"
#include "weave_rules.h"

/* Adds the lines of a build to a file, as outcome `index`. @include@ and @library@ in them become
 * the probes' directory of headers and static library below `prefix`. 0, -ENOENT when its anchor is
 * not there, or another negative errno; with err_set. */
int weave_build_place(struct weave_file *file, const struct weave_build *build, const char *prefix,
                      size_t index);

/* Whether the header of the probes is below the prefix. */
bool weave_probes_there(const char *prefix);

/* The prefix of probes that a user named, as build lines need it: it begins with a slash, whatever
 * directory make will be in, and is owned by the caller. 0, or a negative errno with err_set: the
 * header is not there, or the name would not stay in a line. */
int weave_probes_prefix(const char *given, char **prefix);

#endif
