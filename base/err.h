/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_ERR_H
#define OPTRAIL_ERR_H

/*
 * One way to fail: a function that fails sets one message that says what, where and what to do,
 * and returns a negative errno. Callers pass the number on; the command prints the message.
 * The message lives per thread, until the next one.
 */

/* Sets the message and returns -code (code: a positive errno). A code of ENOMEM and the like is
 * not appended to the text: the text says it all. */
int err_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Puts "prefix: " before the message that is set; returns `result` unchanged. For adding the file
 * or the target that a lower layer cannot know. */
int err_prefix(int result, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* err_set(ENOMEM, ...): nothing more can be said. */
int err_no_memory(void) __attribute__((cold));

/* The message of this thread; "" if none was set. Never NULL; one line, in which nothing can move a
 * terminal's cursor (escape.h). */
const char *err_message(void);

#ifdef __clang_analyzer__
/* What clang's analyzer cannot see from here: a failure is always negative, never 0. */
#define err_set(...)    ((err_set)(__VA_ARGS__), -1)
#define err_no_memory() ((err_no_memory)(), -1)
#endif

#endif
