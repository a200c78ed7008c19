/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "command.h"
#include "err.h"
#include "escape.h"
#include "path.h"

static const struct option_row options[] = {{0}};

enum { SHOWN = 512 };

/* A name of a path file as it may be shown, in `out`; NULL is "". */
static const char *shown(const char *name, char out[SHOWN])
{
    escape_for_terminal(name ? name : "", out, SHOWN);
    return out;
}

static void print_path(const struct path *path)
{
    char name[SHOWN], daemon[SHOWN], store[SHOWN], file[SHOWN];

    printf("%s: %s%s%s, %s\n", shown(path->name, name), shown(path->daemon, daemon),
           path->store && *path->store ? ", " : "", shown(path->store, store),
           shown(path->file, file));
    for (size_t i = 0; i < path->type_count; i++)
        printf("%s %s%s", i ? "," : "  types", shown(path->types[i].name, name),
               i + 1 == path->type_count ? "\n" : "");
    for (size_t i = 0; i < path->stage_count; i++) {
        const struct path_stage *stage = &path->stages[i];
        printf("  %-24s %-9s %s .. %s", shown(stage->name, name), stage_kind_names[stage->kind],
               point_rows[stage->from].name, point_rows[stage->to].name);
        if (stage->branch >= 0)
            printf(", branch %s", shown(path->branches[stage->branch], name));
        if (stage->within >= 0)
            printf(", within %s", shown(path->stages[stage->within].name, name));
        putchar('\n');
    }
}

static int print_installed(void)
{
    const char *directory = path_default_directory();
    char name[SHOWN], daemon[SHOWN], store[SHOWN], file[SHOWN];
    struct path_set set = {0};
    int result = path_set_read(directory, &set);

    for (size_t i = 0; result == 0 && i < set.count; i++)
        printf("%-24s %-12s %-12s %zu types, %zu stages  %s\n", shown(set.paths[i]->name, name),
               shown(set.paths[i]->daemon, daemon), shown(set.paths[i]->store, store),
               set.paths[i]->type_count, set.paths[i]->stage_count,
               shown(set.paths[i]->file, file));
    path_set_free(&set);
    return result;
}

static int run(int argc, char **argv)
{
    int result = argc == 0 ? print_installed() : 0;

    for (int i = 0; result == 0 && i < argc; i++) {
        struct path *path = NULL;
        result = path_read(argv[i], &path);
        if (result == 0)
            print_path(path);
        path_free(path);
    }
    /* a path file that is refused is no wrong use */
    return result == -EINVAL ? -EBADMSG : result;
}

const struct command command_paths = {
    .name = "paths",
    .arguments = "[FILE...]",
    .summary = "list the paths, or check path files",
    .text = "A path is a file that says which stages the operations of a daemon pass. Without "
            "FILE the installed paths are listed; with FILE each file is checked and its stages "
            "are printed.",
    .examples = "optrail paths my-daemon.yaml\tcheck a path file",
    .options = options,
    .maximum_arguments = -1,
    .run = run,
};
