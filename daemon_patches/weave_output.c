/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "weave.h"

static const char *wanted(const struct weave_file *file, bool undo, size_t *size)
{
    *size = undo ? file->clean_size : file->woven_size;
    return undo ? file->clean : file->woven;
}

static bool differs(const struct weave_file *file, bool undo)
{
    size_t size;
    const char *text = wanted(file, undo, &size);
    return size != file->found_size || memcmp(text, file->found, size) != 0;
}

/* The record of what the tree has after the change. */
static int make_record(const struct weaving *weaving, bool undo, struct weave_record *record)
{
    int result = 0;
    *record = (struct weave_record){0};
    for (size_t i = 0; !undo && result == 0 && i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        if (file->line_count > 0)
            result = weave_record_add(record, file->name, weave_sum(file->clean, file->clean_size));
    }
    return result;
}

/* Signals that end the program wait until nothing lies beside the files any more. One that is
 * ignored ends nothing. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    static const int all[] = {SIGHUP, SIGINT, SIGTERM};
    sigemptyset(held);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct sigaction action;
        if (sigaction(all[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(held, all[i]);
    }
    pthread_sigmask(SIG_BLOCK, held, before);
}

static bool is_interrupted(const sigset_t *held)
{
    sigset_t waiting;
    sigpending(&waiting);
    sigandset(&waiting, &waiting, held);
    return !sigisemptyset(&waiting);
}

/* All new texts beside the old ones; `beside` has a row a file, and one for the record. */
static int write_beside(const struct weaving *weaving, bool undo, const sigset_t *held,
                        char **beside, size_t *disowned)
{
    struct weave_record record;
    int result = make_record(weaving, undo, &record);
    if (result == 0 && record.count > 0)
        result = weave_record_write_beside(&weaving->tree, &record, &beside[weaving->file_count]);
    weave_record_free(&record);
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++) {
        const struct weave_file *file = &weaving->files[i];
        size_t size;
        const char *text = wanted(file, undo, &size);
        if (is_interrupted(held))
            return err_set(EINTR, "%s: interrupted: nothing is changed", weaving->tree.name);
        if (!differs(file, undo))
            continue;
        result = weave_tree_write_beside(&weaving->tree, file->name, text, size, &file->access,
                                         &beside[i]);
        if (result > 0) {
            ++*disowned;
            result = 0;
        }
    }
    return result;
}

/* Gives the tree the record that it had. */
static int restore_record(const struct weaving *weaving)
{
    char *temporary;
    if (!weaving->recorded)
        return weave_tree_remove(&weaving->tree, WEAVE_RECORD);
    int result = weave_record_write_beside(&weaving->tree, &weaving->record, &temporary);
    if (result == 0 && (result = weave_tree_replace(&weaving->tree, temporary, WEAVE_RECORD)) < 0)
        weave_tree_remove(&weaving->tree, temporary);
    free(temporary);
    return result;
}

/* The record goes first: one that tells of more than is there does no harm. */
static int replace_all(const struct weaving *weaving, char **beside, size_t *changed)
{
    char *record = beside[weaving->file_count];
    int result = record ? weave_tree_replace(&weaving->tree, record, WEAVE_RECORD) : 0;
    bool recorded = record && result == 0;
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++) {
        if (!beside[i])
            continue;
        result = weave_tree_replace(&weaving->tree, beside[i], weaving->files[i].name);
        if (result == 0) {
            ++*changed;
            continue;
        }
        char done[64];
        if (*changed > 0)
            snprintf(done, sizeof(done), "%zu file%s replaced already", *changed,
                     *changed == 1 ? " is" : "s are");
        else
            snprintf(done, sizeof(done), "%s",
                     recorded && restore_record(weaving) < 0
                         ? "nothing is changed but " WEAVE_RECORD
                         : "nothing is changed");
        result = err_set(-result, "%s/%s: cannot replace it: %s; %s", weaving->tree.name,
                         weaving->files[i].name, strerror(-result), done);
    }
    if (result == 0 && !record && weaving->recorded)
        result = weave_tree_remove(&weaving->tree, WEAVE_RECORD);
    return result;
}

/* What is still beside the files after a failure; the message of that is kept. */
static void remove_beside(const struct weaving *weaving, char **beside, int result)
{
    char message[1024];
    snprintf(message, sizeof(message), "%s", err_message());
    for (size_t i = 0; i <= weaving->file_count; i++)
        if (beside[i]) /* after a rename it is not there */
            weave_tree_remove(&weaving->tree, beside[i]);
    err_set(-result, "%s", message);
}

/* The signals are held, and the lock is. */
static int write_files(const struct weaving *weaving, bool undo, const sigset_t *held,
                       struct weave_written *written)
{
    int result = weave_tree_remove_strays(&weaving->tree, WEAVE_RECORD, &written->strays);
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++)
        result = weave_tree_remove_strays(&weaving->tree, weaving->files[i].name, &written->strays);
    char **beside = calloc(weaving->file_count + 1, sizeof(*beside));
    if (!beside)
        return err_no_memory();
    if (result == 0)
        result = write_beside(weaving, undo, held, beside, &written->disowned);
    if (result == 0)
        result = replace_all(weaving, beside, &written->changed);
    if (result)
        remove_beside(weaving, beside, result);
    for (size_t i = 0; i <= weaving->file_count; i++)
        free(beside[i]);
    free(beside);
    return result;
}

int weave_write(const struct weaving *weaving, bool undo, struct weave_written *written)
{
    sigset_t held, before;
    *written = (struct weave_written){0};
    if (!undo && weaving->refused)
        return err_set(EINVAL, "%zu of %zu rules are refused: nothing is changed", weaving->refused,
                       weaving->outcome_count);
    int result = weave_tree_lock(&weaving->tree);
    if (result)
        return result;
    hold_signals(&held, &before);
    result = write_files(weaving, undo, &held, written);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
