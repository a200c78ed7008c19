/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BT_ERROR_H
#define OPTRAIL_BT_ERROR_H

#include <stddef.h>

/* Takes babeltrace2's error of this thread, if there is one, and writes its innermost cause into
 * `text` as one plain clause, without addresses, source lines or line breaks. "" when there is no
 * error. */
void bt_error_take(char *text, size_t size);

#endif
