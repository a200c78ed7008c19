/* SPDX-License-Identifier: MIT */
#ifndef MINISTORE_DAEMON_LOG_H
#define MINISTORE_DAEMON_LOG_H

/* One line to standard error, after the program's name. Thread-safe. Returns -1, so that a failing
 * start can say `return log_error(...)`. */
int log_error(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* The same for what a hostile client can cause as often as it likes: at most eight lines a
 * second; how many were held back is said by the next line that passes. */
void log_limited(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

#ifdef __clang_analyzer__
/* What clang's analyzer cannot see from here. */
#define log_error(...) ((log_error)(__VA_ARGS__), -1)
#endif

#endif
