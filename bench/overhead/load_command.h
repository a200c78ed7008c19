/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOAD_COMMAND_H
#define OPTRAIL_LOAD_COMMAND_H

#include <stdbool.h>

/* The program that puts load on the daemon meanwhile, in a process group of its own. */
struct load_command;

/* Starts it; what it prints is dropped. -errno with the message when it cannot be run. `words` ends
 * with NULL. Owned by the caller. */
int load_command_start(char *const *words, struct load_command **load);

/* Whether it has ended by itself. */
bool load_command_ended(struct load_command *load);

/* Ends it and all that it started. NULL is fine. */
void load_command_stop(struct load_command *load);

#endif
