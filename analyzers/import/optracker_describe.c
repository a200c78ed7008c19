/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_private.h"
#include "optracker_stages.h"

#define MOST_DATA (UINT64_C(1) << 40) /* of one op: more than any object holds */

/* "write 0~4096": the length behind the offset, where the operation moves data. False: it does, and
 * its length cannot be. */
static bool add_data(const char *operation, uint64_t *bytes)
{
    static const char *const moving[] = {"write ", "writefull ", "append ", "read ",
                                         "sparse-read "};

    for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++) {
        size_t length = strlen(moving[i]);
        if (strncmp(operation, moving[i], length) != 0)
            continue;
        operation += length;
        operation += strspn(operation, "0123456789");
        if (*operation++ != '~' || !isdigit((unsigned char)*operation))
            return false;
        uint64_t data = strtoull(operation, NULL, 10);
        if (data > MOST_DATA || *bytes + data > MOST_DATA)
            return false;
        *bytes += data;
    }
    return true;
}

/* Where the list of operations begins, as in "... object [write 0~512] snapc 4=[4,3] ondisk e5)":
 * the last one in brackets of its own, since an object's name may hold another. What is in its
 * brackets may have brackets. NULL: there is none, or the text is cut off where it cannot be told.
 */
static const char *operations_of(const char *description)
{
    const char *list = NULL;
    size_t depth = 0;

    for (const char *at = description + strlen(description); at-- > description;) {
        if (*at == ']')
            depth++;
        if (*at != '[')
            continue;
        bool own = at > description && at[-1] == ' ';
        if (depth > 0)
            depth--;
        else if (own) /* it is not closed: what was found within or before it is no list */
            return NULL;
        if (depth == 0 && own && !list)
            list = at;
    }
    return list;
}

/* What the operations in "[set-alloc-hint ...,write 0~4096,write 8192~512]" move. False: no list is
 * there, as in what was not decoded or was cut off, or a length in it cannot be. */
static bool data_in(const char *list, uint64_t *bytes)
{
    *bytes = 0;
    if (!list)
        return false;
    do {
        if (!add_data(++list, bytes))
            return false;
        list += strcspn(list, ",]");
    } while (*list == ',');
    return true;
}

void optracker_describe(const char *description, struct import_op *op)
{
    static const char *const writes[] = {"+write",   "[write",  "writefull", "append",   "delete",
                                         "omap-set", "omap-rm", "setxattr",  "truncate", "zero"};
    const char *list = operations_of(description);

    if (sscanf(description, "osd_op(client.%" SCNu64 ".%*u:%" SCNu64, &op->client, &op->tid) < 2)
        op->client = op->tid = 0;
    if (strstr(description, "(undecoded)"))
        snprintf(op->type, sizeof(op->type), "undecoded op");
    else if (strncmp(description, "osd_op(", 7) == 0) {
        /* without a list of operations or flags, as where it is cut off, nobody knows which */
        snprintf(op->type, sizeof(op->type),
                 strchr(description, '[') || strchr(description, '+') ? "read" : "client op");
        for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
            if (strstr(list ? list : description, writes[i]))
                snprintf(op->type, sizeof(op->type), "write");
    } else if (strncmp(description, "osd_repop(", 10) == 0 ||
               strncmp(description, "osd_sub_op(", 11) == 0)
        snprintf(op->type, sizeof(op->type), "replica write");
    else
        snprintf(op->type, sizeof(op->type), "%.*s",
                 (int)(strcspn(description, "( ") < 40 ? strcspn(description, "( ") : 40),
                 description);
    if (!*op->type)
        snprintf(op->type, sizeof(op->type), "unnamed op");
    /* a copy's description does not tell what is in it */
    op->sized = strncmp(description, "osd_op(", 7) == 0 && data_in(list, &op->bytes);
}
