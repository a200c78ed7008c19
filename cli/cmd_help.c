/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "err.h"
#include "verbs.h"

static bool man;

static const struct option_row options[] = {
    {.name = "man",
     .type = OPTION_FLAG,
     .value = &man,
     .text = "print it as a manual page (troff)"},
    {0},
};

static int run(int argc, char **argv)
{
    const struct command *command;

    if (argc == 0) {
        (man ? verbs_manual : verbs_usage)(stdout);
        return 0;
    }
    command = verb_by_name(argv[0]);
    if (!command)
        return err_set(EINVAL, "there is no verb '%s': `optrail --help` lists them", argv[0]);
    (man ? command_manual : command_usage)(command, stdout);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .arguments = "[VERB]",
    .summary = "tell how to use optrail, or one verb of it",
    .examples = "optrail help report\tthe same as optrail report --help\n"
                "optrail help --man report | man -l -\tthe manual page",
    .options = options,
    .maximum_arguments = 1,
    .run = run,
};
