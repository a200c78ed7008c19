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

/* What the operations in "[set-alloc-hint ...,write 0~4096,write 8192~512]" move. False: no list is
 * there, as in what was not decoded or was cut off, or a length in it cannot be. */
static bool data_in(const char *description, uint64_t *bytes)
{
    const char *at = strstr(description, " [");

    *bytes = 0;
    if (!at || !strchr(at, ']'))
        return false;
    at++;
    do {
        if (!add_data(++at, bytes))
            return false;
        at += strcspn(at, ",]");
    } while (*at == ',');
    return true;
}

void optracker_describe(const char *description, struct import_op *op)
{
    static const char *const writes[] = {"+write",   "[write",  "writefull", "append",   "delete",
                                         "omap-set", "omap-rm", "setxattr",  "truncate", "zero"};

    if (sscanf(description, "osd_op(client.%" SCNu64 ".%*u:%" SCNu64, &op->client, &op->tid) < 2)
        op->client = op->tid = 0;
    if (strstr(description, "(undecoded)"))
        snprintf(op->type, sizeof(op->type), "undecoded op");
    else if (strncmp(description, "osd_op(", 7) == 0) {
        /* without a list of operations or flags, as where it is cut off, nobody knows which */
        snprintf(op->type, sizeof(op->type),
                 strchr(description, '[') || strchr(description, '+') ? "read" : "client op");
        for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
            if (strstr(description, writes[i]))
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
    op->sized = strncmp(description, "osd_op(", 7) == 0 && data_in(description, &op->bytes);
}
