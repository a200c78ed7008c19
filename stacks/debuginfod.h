/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DEBUGINFOD_H
#define OPTRAIL_DEBUGINFOD_H

#include "stack_module.h"

/* Asks the servers of $DEBUGINFOD_URLS for debug files, in a thread of its own, one after the
 * other: nobody waits for a server. libdebuginfod is loaded at run time. */
struct debuginfod;

/* -ENOTSUP with the message where the library is not there. Owned by the caller. */
int debuginfod_open(struct debuginfod **client);

/* Returns at once: what is still under way is given up by the thread, as soon as the library lets
 * it. NULL is fine. */
void debuginfod_close(struct debuginfod *client);

/* Asks for a module's file, once; what cannot be asked for is forgotten. */
void debuginfod_ask(struct debuginfod *client, struct stack_module *module);

/* The next answer: the module it was asked for (weak), and the open file, now the caller's. False
 * when none has come. */
bool debuginfod_answer(struct debuginfod *client, const struct stack_module **module, int *fd);

#endif
