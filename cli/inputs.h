/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_INPUTS_H
#define OPTRAIL_INPUTS_H

/*
 * What a command is given to read. Names that are no file, "-" among them, are passed over: whoever
 * reads them says what is wrong.
 */

/* Fails with -EINVAL when two of the names are one file or directory: it would count twice. */
int inputs_differ(int count, char *const *names);

/* Fails with -EINVAL when a run would count twice: two of the names are one, or files or
 * directories (with all that is in them) of the same bytes, which no two runs are. Reads them as
 * far as they agree. One thread at a time. */
int inputs_count_once(int count, char *const *names);

/* Fails with -EINVAL when writing `output` (NULL: none) would destroy what is read: it is one of
 * the names (NULL among them is passed over), by whatever path, or lies in the directory of a CTF
 * trace that is read, of whose streams it would become one; or it would make a trace of a directory
 * in there, by its name. */
int inputs_keep(int count, char *const *names, const char *output);

/* Fails with -EINVAL when two of the outputs are one file, by whatever path; NULL and "-" are
 * passed over. `options` are what they are called by: "-o". */
int outputs_differ(int count, const char *const *outputs, const char *const *options);

#endif
