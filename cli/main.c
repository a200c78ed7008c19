/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "err.h"
#include "suggest.h"
#include "verbs.h"

static int complain(const char *message)
{
    fprintf(stderr, "optrail: %s\n", message);
    return EXIT_FAILED;
}

static int unknown_verb(const char *word)
{
    struct suggestion suggestion;

    suggest_begin(&suggestion, word, strlen(word));
    for (const struct command *const *command = commands; *command; command++)
        suggest_try(&suggestion, (*command)->name);
    if (suggestion.nearest)
        err_set(EINVAL, "there is no verb '%s': do you mean '%s'?", word, suggestion.nearest);
    else
        err_set(EINVAL, "there is no verb '%s': `optrail --help` lists them", word);
    complain(err_message());
    return EXIT_WRONG_USE;
}

/* Runs a verb; its exit status. */
static int run(const struct command *command, int argc, char **argv)
{
    int result = command_parse(command, &argc, argv);

    if (result == 1)
        return EXIT_DONE;
    if (result == 0)
        result = command->run(argc, argv);
    if (result >= 0)
        return EXIT_DONE;
    const char *message = *err_message() ? err_message() : strerror(-result);
    if (result != -EINVAL)
        return complain(message);
    fprintf(stderr, "optrail: %s (see `optrail %s --help`)\n", message, command->name);
    return EXIT_WRONG_USE;
}

/* What went to standard output must have arrived. */
static int finish(int status)
{
    errno = 0;
    if ((fflush(stdout) == EOF || ferror(stdout)) && status == EXIT_DONE) {
        fprintf(stderr, "optrail: standard output cannot be written: %s\n",
                strerror(errno ? errno : EIO));
        return EXIT_FAILED;
    }
    return status;
}

/* With one of 0 to 2 closed, a file that is opened later would get its number, and what is printed
 * would end in that file. Opened for the other direction, so that using it is still an error. */
static void occupy_standard_files(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv)
{
    occupy_standard_files();
    if (argc < 2) {
        verbs_usage(stderr);
        return EXIT_WRONG_USE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        verbs_usage(stdout);
        return finish(EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("optrail %s\n", OPTRAIL_VERSION);
        return finish(EXIT_DONE);
    }
    const struct command *command = verb_by_name(argv[1]);
    return command ? finish(run(command, argc - 1, argv + 1)) : unknown_verb(argv[1]);
}
