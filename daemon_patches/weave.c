/* SPDX-License-Identifier: MIT */
#include "weave.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "weave_place.h"
#include "weave_text.h"

/* No source file of a daemon is larger. */
#define MAX_BYTES (16 << 20)

/* Whether the line (without its end) is one of ours. */
static bool is_ours(const char *line, size_t length)
{
    size_t end = strlen(WEAVE_MARK_END), begin = strlen(WEAVE_MARK_BEGIN);
    if (length < end || memcmp(line + length - end, WEAVE_MARK_END, end) != 0)
        return false;
    length -= end;
    size_t at = length;
    while (at > 0 && strchr("abcdefghijklmnopqrstuvwxyz0123456789_", line[at - 1]) && line[at - 1])
        at--;
    return at < length && at >= begin && memcmp(line + at - begin, WEAVE_MARK_BEGIN, begin) == 0;
}

static int make_clean(struct weave_file *file)
{
    file->clean = malloc(file->found_size + 1);
    if (!file->clean)
        return err_no_memory();
    for (size_t at = 0, next; at < file->found_size; at = next) {
        const char *line = file->found + at;
        const char *end = memchr(line, '\n', file->found_size - at);
        next = end ? (size_t)(end - file->found) + 1 : file->found_size;
        size_t length = next - at - (end != NULL);
        length -= end && length > 0 && line[length - 1] == '\r';
        if (end && is_ours(line, length))
            continue;
        memcpy(file->clean + file->clean_size, line, next - at);
        file->clean_size += next - at;
    }
    file->clean[file->clean_size] = '\0';
    return 0;
}

static int read_all(int descriptor, struct weave_file *file)
{
    struct stat status;
    if (fstat(descriptor, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > MAX_BYTES)
        return err_set(EINVAL, "%s: no ordinary file of at most 16 MiB", file->path);
    file->mode = status.st_mode & 07777;
    file->found = malloc((size_t)status.st_size + 1);
    if (!file->found)
        return err_no_memory();
    ssize_t got = 1;
    while (got > 0 && file->found_size < (size_t)status.st_size) {
        got = read(descriptor, file->found + file->found_size,
                   (size_t)status.st_size - file->found_size);
        if (got < 0)
            return err_set(errno, "%s: cannot read it: %s", file->path, strerror(errno));
        file->found_size += (size_t)got;
    }
    file->found[file->found_size] = '\0';
    return make_clean(file);
}

/* Finds the file among those that are open already, or reads it. -ENOENT: it is not there. */
static int open_file(struct weaving *weaving, const char *tree, const char *name, size_t *index)
{
    for (*index = 0; *index < weaving->file_count; ++*index)
        if (strcmp(weaving->files[*index].name, name) == 0)
            return 0;
    struct weave_file file = {.name = name};
    if (asprintf(&file.path, "%s/%s", tree, name) < 0)
        return err_no_memory();
    int descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int result = 0;
    if (descriptor < 0)
        result = err_set(errno, "%s: cannot open it: %s", file.path, strerror(errno));
    struct weave_file *files = NULL;
    if (result == 0 &&
        !(files = reallocarray(weaving->files, weaving->file_count + 1, sizeof(*files))))
        result = err_no_memory();
    if (files)
        weaving->files = files;
    if (result == 0)
        result = read_all(descriptor, &file);
    if (descriptor >= 0)
        close(descriptor);
    if (result) {
        free(file.path);
        free(file.found);
        free(file.clean);
        return result;
    }
    weaving->files[weaving->file_count++] = file;
    return 0;
}

/* The line's end that the line above has. */
static const char *line_end(const struct weave_file *file, size_t offset)
{
    return offset > 1 && file->clean[offset - 2] == '\r' ? "\r\n" : "\n";
}

/* Takes ownership of text, even when it fails. Lines with one offset keep the order of rules, but
 * what stands behind a statement comes before what stands in front of the next. */
static int add_line(struct weave_file *file, size_t offset, bool in_front, size_t rule, char *text)
{
    struct weave_line *lines = reallocarray(file->lines, file->line_count + 1, sizeof(*lines));
    if (!lines) {
        free(text);
        return err_no_memory();
    }
    file->lines = lines;
    size_t at = file->line_count++;
    for (; at > 0 && (lines[at - 1].offset > offset ||
                      (lines[at - 1].offset == offset && lines[at - 1].in_front && !in_front));
         at--)
        lines[at] = lines[at - 1];
    lines[at] =
        (struct weave_line){.offset = offset, .in_front = in_front, .rule = rule, .text = text};
    return 0;
}

static int add_spot(struct weave_file *file, const struct weave_rule *rule, size_t index,
                    const struct weave_spot *spot, unsigned number)
{
    char *call = weave_statement_text(rule, spot->text, number), *text = NULL;
    int blanks = (int)strspn(file->clean + spot->indent, " \t");
    int length = !call ? -1
                       : asprintf(&text, "%.*s%s" WEAVE_MARK_BEGIN "%s" WEAVE_MARK_END "%s", blanks,
                                  file->clean + spot->indent, call, rule->name,
                                  line_end(file, spot->offset));
    free(call);
    if (length < 0)
        return err_no_memory();
    bool in_front = spot->text == WEAVE_TEXT_BEFORE || rule->position == WEAVE_BEFORE;
    return add_line(file, spot->offset, in_front, index, text);
}

/* -ENOENT: neither the function nor the call is in this file. */
static int place_rule(struct weave_file *file, const struct weave_rule *rule, size_t index,
                      const char **function)
{
    struct cxx_code code;
    struct weave_spots spots = {0};
    int result = cxx_code_read(file->clean, file->clean_size, &code);
    if (result == 0)
        result = weave_place(&code, file->clean_size, rule, &spots);
    cxx_code_free(&code);
    *function = spots.function;
    for (size_t i = 0; result == 0 && i < spots.count; i++)
        result = add_spot(file, rule, index, &spots.rows[i], (unsigned)i + 1);
    free(spots.rows);
    return result;
}

/* Tries the rule's files until the function is in one. */
static int try_rule(struct weaving *weaving, const char *tree, const struct weave_rule *rule,
                    size_t index)
{
    struct weave_outcome *outcome = &weaving->outcomes[index];
    int result = -ENOENT;
    for (size_t i = 0; result == -ENOENT && i < rule->files.count; i++) {
        size_t file;
        result = open_file(weaving, tree, rule->files.rows[i], &file);
        if (result == -ENOENT && outcome->file)
            continue; /* the reason that was found in a file before it stands */
        outcome->file = result == -ENOENT ? NULL : rule->files.rows[i];
        free(outcome->reason);
        outcome->reason = NULL;
        if (result == 0)
            result = place_rule(&weaving->files[file], rule, index, &outcome->function);
        if (result && !(outcome->reason = strdup(err_message())))
            return err_no_memory();
    }
    return result;
}

/* Puts the #include into a file that has got lines. */
static int add_include(struct weave_file *file, const struct weave_rules *rules)
{
    struct cxx_code code;
    size_t offset;
    char *text = NULL;
    int result = cxx_code_read(file->clean, file->clean_size, &code);
    if (result == 0)
        result = weave_include_place(&code, file->clean_size, &offset);
    cxx_code_free(&code);
    if (result)
        return result;
    if (asprintf(&text, "#include %s" WEAVE_MARK_BEGIN "include" WEAVE_MARK_END "%s",
                 rules->include, line_end(file, offset)) < 0)
        return err_no_memory();
    return add_line(file, offset, false, rules->count, text);
}

static int refuse(struct weaving *weaving, size_t index)
{
    struct weave_outcome *outcome = &weaving->outcomes[index];
    if (!outcome->reason)
        outcome->reason = strdup(err_message());
    outcome->state = WEAVE_REFUSED;
    return outcome->reason ? 0 : err_no_memory();
}

/* Puts the lines into the clean text. */
static int make_woven(struct weave_file *file)
{
    size_t size = file->clean_size, at = 0;
    unsigned line = 1;
    for (size_t i = 0; i < file->line_count; i++)
        size += strlen(file->lines[i].text);
    file->woven = malloc(size + 1);
    if (!file->woven)
        return err_no_memory();
    for (size_t i = 0; i <= file->line_count; i++) {
        size_t until = i < file->line_count ? file->lines[i].offset : file->clean_size;
        for (; at < until; at++) {
            file->woven[file->woven_size++] = file->clean[at];
            line += file->clean[at] == '\n';
        }
        if (i == file->line_count)
            break;
        size_t length = strlen(file->lines[i].text);
        memcpy(file->woven + file->woven_size, file->lines[i].text, length);
        file->woven_size += length;
        file->lines[i].line = line++;
    }
    return 0;
}

static int finish_file(struct weave_file *file, const struct weave_rules *rules,
                       struct weaving *weaving)
{
    int result = 0;
    if (file->line_count > 0 && add_include(file, rules) < 0)
        for (size_t i = 0; result == 0 && i < file->line_count; i++)
            result = refuse(weaving, file->lines[i].rule);
    return result ? result : make_woven(file);
}

int weave_prepare(const char *tree, const struct weave_rules *rules, struct weaving *weaving)
{
    *weaving = (struct weaving){.outcome_count = rules->count};
    weaving->outcomes = calloc(rules->count, sizeof(*weaving->outcomes));
    struct stat status;
    int result = weaving->outcomes ? 0 : err_no_memory();
    if (result == 0 && (stat(tree, &status) < 0 || !S_ISDIR(status.st_mode)))
        result = err_set(ENOTDIR, "%s: no directory", tree);
    for (size_t i = 0; result == 0 && i < rules->count; i++) {
        int placed = try_rule(weaving, tree, &rules->rows[i], i);
        if (placed == -ENOMEM)
            result = placed;
        else if (placed < 0)
            result = refuse(weaving, i);
        if (result == 0 && placed == -ENOENT && rules->rows[i].optional)
            weaving->outcomes[i].state = WEAVE_ABSENT;
    }
    for (size_t i = 0; result == 0 && i < weaving->file_count; i++)
        result = finish_file(&weaving->files[i], rules, weaving);
    for (size_t i = 0; result == 0 && i < rules->count; i++)
        weaving->refused += weaving->outcomes[i].state == WEAVE_REFUSED;
    if (result)
        weaving_free(weaving);
    return result;
}

void weaving_free(struct weaving *weaving)
{
    for (size_t i = 0; i < weaving->outcome_count && weaving->outcomes; i++)
        free(weaving->outcomes[i].reason);
    for (size_t i = 0; i < weaving->file_count; i++) {
        struct weave_file *file = &weaving->files[i];
        for (size_t k = 0; k < file->line_count; k++)
            free(file->lines[k].text);
        free(file->lines);
        free(file->path);
        free(file->found);
        free(file->clean);
        free(file->woven);
    }
    free(weaving->outcomes);
    free(weaving->files);
    *weaving = (struct weaving){0};
}
