/* SPDX-License-Identifier: MIT */
#include "bt_error.h"

#include <babeltrace2/babeltrace.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* babeltrace2 writes "What is wrong: some-name=value, other=value": the values are for its
 * developers. Cuts them off, and the full stop. */
static void cut_values(char *text)
{
    for (char *colon = strstr(text, ": "); colon; colon = strstr(colon + 1, ": ")) {
        const char *at = colon + 2;
        while (isalnum((unsigned char)*at) || *at == '-' || *at == '_')
            at++;
        if (*at == '=') {
            *colon = '\0';
            break;
        }
    }
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' '))
        text[--length] = '\0';
}

void bt_error_take(char *text, size_t size)
{
    const bt_error *error = bt_current_thread_take_error();

    text[0] = '\0';
    if (!error)
        return;
    if (bt_error_get_cause_count(error) > 0)
        snprintf(text, size, "%s",
                 bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    bt_error_release(error);
    for (char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = ' ';
    cut_values(text);
    if (isupper((unsigned char)text[0]) && !isupper((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
}
