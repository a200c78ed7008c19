/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include <string.h>

/* Each verb stands in its file cmd_NAME.c. Those with an #ifdef are there only when the build has
 * what they need (cli/CMakeLists.txt). */
extern const struct command command_list, command_attach, command_record, command_report,
    command_flame, command_locks, command_scale, command_import, command_diff, command_paths,
    command_points, command_weave, command_bench, command_help;

const struct command *const commands[] = {
#ifdef OPTRAIL_HAVE_LIST
    &command_list,
#endif
#ifdef OPTRAIL_HAVE_ATTACH
    &command_attach,
#endif
#ifdef OPTRAIL_HAVE_RECORD
    &command_record,
#endif
    &command_report,
#ifdef OPTRAIL_HAVE_LOCKS
    &command_locks,
#endif
    &command_flame,  &command_scale, &command_import, &command_diff, &command_paths,
    &command_points, &command_weave,
#ifdef OPTRAIL_HAVE_BENCH
    &command_bench,
#endif
    &command_help,   NULL,
};

const struct command *verb_by_name(const char *name)
{
    for (const struct command *const *command = commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static const char summary[] = "where each operation of a storage daemon spends its time";

void verbs_usage(FILE *out)
{
    fprintf(out,
            "usage: optrail VERB [OPTION...] [ARGUMENT...]\n\n"
            "optrail tells %s,\nand what holds it back.\n\nVerbs:\n",
            summary);
    for (const struct command *const *command = commands; *command; command++)
        fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
    fputs("\n`optrail VERB --help` tells more of one; `optrail --version` prints the version.\n"
          "Exit status: 0 done, 1 failed, 2 wrong use.\n",
          out);
}

void verbs_manual(FILE *out)
{
    fprintf(out,
            ".TH OPTRAIL 1 \"\" \"optrail %s\"\n.SH NAME\noptrail \\- %s\n.SH SYNOPSIS\n"
            "\\fBoptrail\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
            ".SH DESCRIPTION\nFollows each operation of a storage daemon through its threads, "
            "queues and locks, from a recorded trace or from the running daemon, and reports in "
            "which stage its time is spent.\n.SH VERBS\n",
            OPTRAIL_VERSION, summary);
    for (const struct command *const *command = commands; *command; command++)
        fprintf(out, ".TP\n\\fBoptrail\\-%s\\fR(1)\n%s\n", (*command)->name, (*command)->summary);
    fputs(".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR\nList the verbs.\n.TP\n\\fB\\-\\-version\\fR\n"
          "Print the version.\n.SH EXIT STATUS\n0: done. 1: failed. 2: wrong use.\n"
          ".SH ENVIRONMENT\n.TP\n\\fBOPTRAIL_PATHS\\fR\nThe directory of the path files, in place "
          "of the installed one.\n",
          out);
}
