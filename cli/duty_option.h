/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_DUTY_OPTION_H
#define OPTRAIL_DUTY_OPTION_H

/* The part of the time that --duty says: "10%" or "0.1"; 0 where `text` is NULL. -EINVAL with the
 * message when it is no number, or not between 0.1 % and `most`. */
int duty_option_read(const char *text, double most, double *fraction);

#endif
