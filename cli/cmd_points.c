/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "err.h"
#include "points.h"
#include "suggest.h"

static const char *format = "text";

static const struct option_row options[] = {
    {.name = "format",
     .type = OPTION_STRING,
     .argument = "NAME",
     .value = &format,
     .text = "text or json"},
    {0},
};

#define WIDTH 100

static void print_table(void)
{
    int column = printf("%-28s %-9s %-10s ", "point", "role", "key");

    puts("when it is emitted");
    for (int i = 0; i < POINT_COUNT; i++) {
        const struct point_row *row = &point_rows[i];
        printf("%-28s %-9s %-10s ", row->name, event_role_name(row->role), key_kind_name(row->key));
        /* broken at blanks, below the text's first line */
        for (const char *text = row->text; *text;) {
            size_t length = strlen(text), room = (size_t)(WIDTH - column);
            if (length > room)
                for (length = room; length > 1 && text[length] != ' ';)
                    length--;
            printf("%*s%.*s\n", text == row->text ? 0 : column, "", (int)length, text);
            text += length + strspn(text + length, " ");
        }
        if (!*row->text)
            putchar('\n');
    }
}

static int print_json(void)
{
    json_t *points = json_array();

    for (int i = 0; points && i < POINT_COUNT; i++) {
        const struct point_row *row = &point_rows[i];
        json_t *point = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", row->name,
                                  "identifier", row->identifier, "role", event_role_name(row->role),
                                  "key", key_kind_name(row->key), "arg0", row->arg0, "arg1",
                                  row->arg1, "text", row->text);
        if (json_array_append_new(points, point) < 0) {
            json_decref(points);
            points = NULL;
        }
    }
    if (!points)
        return err_no_memory();
    json_dumpf(points, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(points);
    return 0;
}

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    bool json;
    int error = format_is_json(format, &json);
    if (error)
        return error;
    if (json)
        return print_json();
    print_table();
    return 0;
}

const struct command command_points = {
    .name = "points",
    .arguments = "",
    .summary = "list the catalogue of trace points",
    .text = "Lists every point that a daemon may emit: its name (as in path files; with an "
            "underscore in place of the dot it is the LTTng event and the USDT probe), what the "
            "trail builder does with it, what its key is, and when it is emitted.",
    .examples = "optrail points --format json\tfor programs",
    .options = options,
    .run = run,
};
