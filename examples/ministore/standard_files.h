/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_STANDARD_FILES_H
#define MINISTORE_STANDARD_FILES_H

/* Opens /dev/null as standard input, output and error where they are closed, so that no file or
 * connection that is opened later gets their numbers and is written over by messages. Call it
 * first in main. Ends the process with status 1 where there is no /dev/null: nothing is safe to
 * write then, not even a message. */
void standard_files_open(void);

#endif
