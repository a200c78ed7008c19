/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_INPUTS_H
#define OPTRAIL_INPUTS_H

/*
 * What a command is given to read. Names that are no file, "-" among them, are passed over: whoever
 * reads them says what is wrong.
 */

/* Fails with -EINVAL when two of the names are one file or directory: it would count twice. */
int inputs_differ(int count, char *const *names);

/* Fails with -EINVAL when `output` (NULL: none) is one of them: writing it would destroy what is
 * read. */
int inputs_keep(int count, char *const *names, const char *output);

#endif
