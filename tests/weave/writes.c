/* SPDX-License-Identifier: MIT */
/* Weaving that is interrupted, or whose renames fail: what is left in the tree. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "weave.h"

#define TEXT "#include <string>\nvoid f()\n{\n  g();\n}\n"
#define HEAD "optrail.woven/1\n"

static char tree[] = "/tmp/optrail-writes-XXXXXX";
static struct weave_rules both, first; /* of a.cc and b.cc; of a.cc alone */

static void expect(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s (%s; the tree is %s)\n", what, err_message(), tree);
    exit(1);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    expect(file && fputs(text, file) >= 0 && fclose(file) == 0, name);
}

static bool holds(const char *name, const char *wanted)
{
    static char text[4096];
    FILE *file = fopen(name, "r");
    if (!file)
        return false;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return strcmp(text, wanted) == 0;
}

/* Names in the tree. */
static unsigned count_names(void)
{
    DIR *directory = opendir(".");
    unsigned count = 0;
    expect(directory, "the tree can be read");
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static void read_rules(const char *text, struct weave_rules *rules)
{
    put("rules.yaml", text);
    expect(weave_rules_read("rules.yaml", rules) == 0, "the rules can be read");
    unlink("rules.yaml");
}

#define RULE(letter)                                                                               \
    "- {name: " letter ", files: [" letter ".cc], function: f, at: entry, probe: P(1)}\n"

static int weave(const struct weave_rules *rules)
{
    struct weaving weaving;
    struct weave_written written;
    expect(weave_prepare(".", rules, "/opt", &weaving) == 0, "it can be prepared");
    int result = weave_write(&weaving, !rules, &written);
    weaving_free(&weaving);
    return result;
}

/* The file becomes a directory before it is replaced. Returns what weave_write does. */
static int weave_without(const char *name)
{
    struct weaving weaving;
    struct weave_written written;
    expect(weave_prepare(".", &both, "/opt", &weaving) == 0, "it can be prepared");
    expect(unlink(name) == 0 && mkdir(name, 0700) == 0, name);
    int result = weave_write(&weaving, false, &written);
    weaving_free(&weaving);
    expect(rmdir(name) == 0, name);
    return result;
}

static void test_a_rename_that_fails(void)
{
    expect(weave_without("a.cc") < 0, "the first rename fails");
    expect(strstr(err_message(), "./a.cc: cannot replace it: Is a directory; nothing is changed"),
           "the message tells that nothing is changed");
    expect(count_names() == 1 && holds("b.cc", TEXT), "neither record nor new files are left");
    put("a.cc", TEXT);

    expect(weave_without("b.cc") < 0, "the second rename fails");
    expect(strstr(err_message(), "; 1 file is replaced already"),
           "the message tells how far it is");
    expect(count_names() == 2 && !holds("a.cc", TEXT), "the record is left, and what was renamed");
    expect(weave(NULL) == 0 && holds("a.cc", TEXT), "what was renamed can be given back");
    put("b.cc", TEXT);

    expect(weave(&first) == 0, "a tree with a record");
    char record[200];
    snprintf(record, sizeof(record), HEAD "%016llx a.cc\n",
             (unsigned long long)weave_sum(TEXT, strlen(TEXT)));
    expect(holds(".optrail-woven", record), "the record has one file");
    expect(weave_without("b.cc") < 0, "b.cc, the only one that changes, cannot be replaced");
    expect(strstr(err_message(), "; nothing is changed"), "the message tells so");
    expect(holds(".optrail-woven", record), "the record is as it was");
    put("b.cc", TEXT);
    expect(weave(NULL) == 0 && count_names() == 2, "undo");
}

static void test_another_is_at_it(void)
{
    DIR *other = opendir(".");
    expect(other && flock(dirfd(other), LOCK_EX) == 0, "the lock is free");
    expect(weave(&both) == -EBUSY && strstr(err_message(), "another optrail weave"),
           "two at a time are refused");
    expect(holds("a.cc", TEXT) && count_names() == 2, "nothing is changed");
    closedir(other);
    expect(weave(&both) == 0 && weave(NULL) == 0, "and then not");
}

static void test_a_signal_before_the_first_rename(void)
{
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    expect(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGTERM) == 0, "a signal waits");
    expect(weave(&both) == -EINTR && strstr(err_message(), "interrupted: nothing is changed"),
           "it interrupts");
    expect(holds("a.cc", TEXT) && holds("b.cc", TEXT) && count_names() == 2, "nothing is changed");
    expect(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGTERM) == 1 &&
               sigismember(&now, SIGINT) == 0,
           "other signals are not held any more");
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    expect(weave(&both) == 0 && weave(NULL) == 0, "one that is ignored interrupts nothing");
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* it waited all the same, and is forgotten now */
    signal(SIGTERM, SIG_DFL);
}

static char beside[3][64];
static volatile sig_atomic_t arrived, bad;

static void on_signal(int number)
{
    (void)number;
    arrived++;
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
        bad |= access(beside[i], F_OK) == 0;
}

/* Each signal that arrives, at whatever time, sees no file beside another one. */
static void test_no_signal_arrives_while_files_are_beside(void)
{
    static const char *const names[] = {"a.cc", "b.cc", ".optrail-woven"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
        snprintf(beside[i], sizeof(beside[i]), "%s.optrail-%d-0", names[i], (int)getpid());
    signal(SIGINT, on_signal);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        while (getppid() == parent && kill(parent, SIGINT) == 0)
            usleep(100);
        _exit(0);
    }
    expect(child > 0, "fork");
    for (unsigned i = 0; i < 200 || arrived < 20; i++) {
        int result = weave(i % 2 ? NULL : &both);
        expect(result == 0 || result == -EINTR, "it is done, or interrupted");
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    signal(SIGINT, SIG_DFL);
    expect(!bad, "a signal arrived while files were beside others");
    expect(weave(NULL) == 0 && holds("a.cc", TEXT) && count_names() == 2, "undo");
}

int main(void)
{
    expect(mkdtemp(tree) && chdir(tree) == 0, "a directory");
    read_rules("rules:\n" RULE("a") RULE("b"), &both);
    read_rules("rules:\n" RULE("a"), &first);
    put("a.cc", TEXT);
    put("b.cc", TEXT);
    test_a_rename_that_fails();
    test_another_is_at_it();
    test_a_signal_before_the_first_rename();
    test_no_signal_arrives_while_files_are_beside();
    weave_rules_free(&both);
    weave_rules_free(&first);
    unlink("a.cc");
    unlink("b.cc");
    return rmdir(tree) == 0 ? 0 : 1;
}
