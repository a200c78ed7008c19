/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_TERMINAL_H
#define OPTRAIL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The terminal as a page and a keyboard. There is one in a process. Whatever ends the process,
 * SIGKILL apart, gives the terminal back as it was: terminal_close(), exit(), a signal, a crash;
 * so does stopping it (Ctrl-Z), and what was shown comes back when it goes on.
 */

/* Whether standard output is a terminal that can be drawn on. */
bool terminal_there(void);

/* Whether it shows UTF-8, and whether colours are wanted (NO_COLOR, TERM). */
bool terminal_utf8(void);
bool terminal_colors(void);

/* Takes the terminal: alternate screen, no echo, no lines. Call it after interrupt_install(): the
 * handlers there are kept and called. Negative errno with the message. */
int terminal_open(void);
void terminal_close(void); /* may be called at any time, also twice */

void terminal_size(size_t *columns, size_t *lines);

/* Whether what is shown must be drawn anew: the size has changed, or the process was stopped. True
 * once for each time. */
bool terminal_stale(void);

enum terminal_key {
    TERMINAL_NO_KEY = 0, /* characters are themselves */
    TERMINAL_LEFT = 256,
    TERMINAL_RIGHT,
    TERMINAL_BACK_TAB,
    TERMINAL_OTHER_KEY,
};

/* The next key that was pressed; does not wait. */
int terminal_key(void);

/* Shows a page: lines ended by newlines, no more than there are. Does nothing, and returns false,
 * while the terminal takes no output. */
bool terminal_show(const char *page);

#endif
