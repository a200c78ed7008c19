/* SPDX-License-Identifier: MIT */
#include "flame_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "interrupt.h"
#include "sample_words.h"

int flame_inputs_are_files(const struct flame_request *request)
{
    int files = 0;
    for (int i = 0; i < request->input_count; i++) {
        struct stat status = {0};
        const char *name = request->inputs[i];
        if (strcmp(name, "-") != 0 && stat(name, &status) < 0)
            return err_set(errno, "%s: cannot be read: %s", name, strerror(errno));
        files += strcmp(name, "-") == 0 || !S_ISDIR(status.st_mode);
    }
    if (files > 0 && files < request->input_count)
        return err_set(EINVAL, "name either traces (directories) or files of stacks, not both");
    return files > 0;
}

/* An option that asks for what the file does not tell is wrong use, not an empty picture. */
static int check_known(const struct flame_request *request, const struct flame_reader *reader,
                       const char *file)
{
    const struct flame_options *options = &request->options;
    const struct {
        bool asked;
        enum flame_attribute attribute;
        const char *option;
    } rows[] = {
        {options->op, FLAME_BY_OP, "--op"},
        {options->stage, FLAME_BY_STAGE, "--stage"},
        {options->thread, FLAME_BY_THREAD, "--thread"},
        {options->reason, FLAME_BY_REASON, "--reason"},
        {options->kinds & ~(1u << FLAME_cpu), FLAME_BY_KIND, "--kind"},
        {request->tail > 0, FLAME_BY_OP, "--tail"},
        {request->path, FLAME_BY_OP, "--path"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].asked && !(reader->attributes >> rows[i].attribute & 1))
            return err_set(EINVAL, "%s: %s does not tell what %s needs", file, reader->text,
                           rows[i].option);
    for (size_t i = 0; i < options->by_count; i++)
        if (!(reader->attributes >> options->by[i] & 1))
            return err_set(EINVAL, "%s: %s does not tell what --by %s needs", file, reader->text,
                           flame_attribute_names[options->by[i]]);
    if (request->event && !reader->events)
        return err_set(EINVAL, "%s: %s does not tell what --event needs", file, reader->text);
    if (options->in_range && !reader->timed)
        return err_set(EINVAL, "%s: %s does not tell when samples were: --from and --to need it",
                       file, reader->text);
    return 0;
}

static void show_progress(void *context, uint64_t bytes)
{
    (void)context;
    fprintf(stderr, "\r%" PRIu64 " MB ", bytes / 1000000);
}

/* What is to be said of a file that was read. Sets *damaged when lines of it could not be used. */
static int tell(struct flame_tree *tree, const char *file, const struct flame_read_counts *counts,
                char *damage, size_t size)
{
    int result = 0;
    if (counts->other_events > 0 && !*counts->event)
        result = flame_tree_note(tree,
                                 "%s: none of its %" PRIu64 " samples is of the event that --event "
                                 "chooses",
                                 file, counts->other_events);
    else if (counts->other_events > 0)
        result = flame_tree_note(tree,
                                 "%s: only samples of the event %s: %" PRIu64
                                 " of other events are left out (--event chooses)",
                                 file, counts->event, counts->other_events);
    if (result == 0 && counts->no_stack > 0)
        result = flame_tree_note(tree, "%s: %" PRIu64 " sample%s no stack", file, counts->no_stack,
                                 counts->no_stack == 1 ? " has" : "s have");
    if (result == 0 && counts->rounded > 0)
        result = flame_tree_note(tree, "%s: %" PRIu64 " number%s rounded", file, counts->rounded,
                                 counts->rounded == 1 ? " with a fraction was"
                                                      : "s with a fraction were");
    if (result == 0 && (counts->damage.count > 0 || counts->damage.cut || counts->damage.unread)) {
        flame_damage_text(&counts->damage, file, damage, size);
        result = flame_tree_note(tree, "%s", damage);
    }
    return result;
}

struct files {
    const struct flame_request *request;
    struct flame_fold *fold;
    struct flame_tree *tree;
    const volatile int *stop;
    char damage[1024];
};

/* Makes fold and tree when the first file has shown what it is. */
static int begin(struct files *files, const struct flame_reader *reader, bool two_columns)
{
    struct flame_options options = files->request->options;
    if (files->fold)
        return 0;
    /* as the usual scripts have it: the thread's name is next to the root */
    if (!files->request->by_given && reader->attributes >> FLAME_BY_THREAD & 1) {
        options.by_count = 1;
        options.by[0] = FLAME_BY_THREAD;
    }
    return flame_fold_new(&options, files->request->compare || two_columns ? 2 : 1, &files->fold,
                          &files->tree);
}

static int read_lines(struct files *files, struct flame_lines *lines, int number)
{
    const struct flame_request *request = files->request;
    const char *file = request->inputs[number], *text = NULL;
    size_t length = 0;
    const struct flame_reader *reader = flame_reader_of(lines, request->input);
    int result = reader ? check_known(request, reader, file) : -ENODATA;
    if (result == 0)
        result = flame_lines_peek(lines, &text, &length);
    if (result < 0)
        return result;
    bool two = reader == &flame_read_collapsed && length > 0 && flame_has_two_columns(text, length);
    /* a file that is a comparison by itself stands alone; --input says that it is none */
    if (two && request->input_count > 1) {
        if (!request->input)
            return err_set(EINVAL,
                           "%s: two numbers in each line: it is a comparison already, and stands "
                           "alone (with --input collapsed the first one belongs to the frame)",
                           file);
        two = false;
    }
    struct flame_read_options options = {
        .side = request->compare && number > 0 ? 1 : 0,
        .event = request->event,
        .two_columns = two,
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .stop = files->stop,
    };
    struct flame_read_counts counts = {0};
    result = begin(files, reader, two);
    if (result == 0)
        result = reader->read(lines, &options, files->fold, &counts);
    if (options.progress)
        fputs("\r            \r", stderr);
    return result < 0 ? result
                      : tell(files->tree, file, &counts, files->damage, sizeof(files->damage));
}

static int nothing_there(const struct files *files)
{
    struct flame_fold_counts counts = flame_fold_counts(files->fold);
    if (*files->damage)
        return err_set(ENODATA, "%s", files->damage);
    if (counts.filtered > 0)
        return sample_words_none_left(counts.filtered, 0);
    return err_set(ENODATA, "%s: holds no samples%s", files->request->inputs[0],
                   files->request->event ? " of this event" : "");
}

static int finish(struct files *files)
{
    struct flame_tree *tree = files->tree;
    int result = flame_fold_finish(files->fold);
    if (result == 0 && tree->sum[0].count == 0 && tree->sum[1].count == 0)
        result = nothing_there(files);
    for (unsigned side = 0; result == 0 && tree->sides > 1 && side < 2; side++) {
        result = flame_tree_set(&tree->side_names[side], side ? "after" : "before");
        if (result == 0 && tree->sum[side].value == 0)
            result = err_set(ENODATA, "there are no samples %s: nothing to compare with",
                             tree->side_names[side]);
    }
    if (result == 0 && *files->damage)
        return err_set(EBADMSG, "%s", files->damage);
    return result;
}

int flame_read_files(const struct flame_request *request, struct flame_tree **tree)
{
    struct files files = {.request = request, .stop = interrupt_install()};
    int result = 0;
    *tree = NULL;
    for (int i = 0; result == 0 && i < request->input_count && !*files.stop; i++) {
        struct flame_lines lines;
        result = flame_lines_open(&lines, request->inputs[i]);
        if (result < 0)
            break;
        result = read_lines(&files, &lines, i);
        flame_lines_close(&lines);
    }
    if (result == 0 && !files.fold)
        result = err_set(EINTR, "interrupted before anything was read");
    if (result == 0)
        result = finish(&files);
    flame_fold_free(files.fold);
    if (result < 0 && result != -EBADMSG) {
        flame_tree_free(files.tree);
        return result;
    }
    *tree = files.tree;
    return result;
}
