/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "flame_render.h"

const struct flame_renderer flame_renderers[] = {
    {.name = "svg",
     .suffixes = ".svg",
     .text = "a picture to click in, for any browser: one file that needs nothing else",
     .tree = flame_render_svg},
    {.name = "collapsed",
     .suffixes = ".collapsed .folded .txt",
     .text = "a stack a line and its value: for other tools, and to be read again",
     .tree = flame_render_collapsed},
    {.name = "speedscope",
     .suffixes = ".speedscope.json .json",
     .text = "for speedscope",
     .tree = flame_render_speedscope},
    {.name = "pprof",
     .suffixes = ".pb.gz .pprof",
     .text = "for go tool pprof and what reads its profiles",
     .binary = true,
     .tree = flame_render_pprof},
    {.name = "perfetto",
     .suffixes = ".perfetto.json .trace.json",
     .text = "the slowest ops on their threads, for Perfetto and chrome://tracing (traces only)",
     .timeline = flame_render_perfetto},
    {0},
};

const struct flame_renderer *flame_renderer_by_name(const char *name)
{
    char names[256] = "";

    for (const struct flame_renderer *row = flame_renderers; row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
        strncat(names, row == flame_renderers ? "" : ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, row->name, sizeof(names) - strlen(names) - 1);
    }
    err_set(EINVAL, "there is no format '%s': choose one of %s", name, names);
    return NULL;
}

const struct flame_renderer *flame_renderer_by_file(const char *file)
{
    const struct flame_renderer *found = NULL;
    size_t longest = 0;
    for (const struct flame_renderer *row = flame_renderers; row->name; row++)
        for (const char *suffix = row->suffixes; *suffix;) {
            size_t length = strcspn(suffix, " ");
            if (length > longest && strlen(file) > length &&
                strncmp(file + strlen(file) - length, suffix, length) == 0) {
                found = row;
                longest = length;
            }
            suffix += length + (suffix[length] == ' ' ? 1 : 0);
        }
    return found;
}
