/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_RUN_COMMAND_H
#define OPTRAIL_RUN_COMMAND_H

/* Runs a command found in $PATH, without input and without showing its output, and waits for its
 * end. `arguments` begins with its name and ends with NULL; `package` is what brings the command
 * on Debian. 0, or a negative errno with a message that quotes the last line the command printed
 * (-ENOENT: not installed). */
int run_command(const char *const *arguments, const char *package);

#endif
