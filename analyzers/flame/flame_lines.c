/* SPDX-License-Identifier: MIT */
#include "flame_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "flame_bytes.h"

#define BUFFER_BYTES (2u * FLAME_LINE_MAX)

void flame_damage_add(struct flame_damage *damage, uint64_t line, const char *why)
{
    if (damage->count < FLAME_DAMAGE_SHOWN) {
        damage->first[damage->count].line = line;
        damage->first[damage->count].why = why;
    }
    damage->count++;
}

void flame_damage_text(const struct flame_damage *damage, const char *file, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s: ", file);
    used = strlen(text);
    if (damage->count > 0)
        snprintf(text + used, size - used, "%" PRIu64 " line%s could not be used: ", damage->count,
                 damage->count == 1 ? "" : "s");
    for (uint64_t i = 0; i < damage->count && i < FLAME_DAMAGE_SHOWN; i++) {
        used = strlen(text);
        snprintf(text + used, size - used, "%s%" PRIu64 " (%s)", i ? ", " : "line ",
                 damage->first[i].line, damage->first[i].why);
    }
    used = strlen(text);
    if (damage->count > FLAME_DAMAGE_SHOWN)
        snprintf(text + used, size - used, ", ...");
    used = strlen(text);
    if (damage->cut)
        snprintf(text + used, size - used,
                 "%sthe compressed data are damaged or break off behind line %" PRIu64,
                 damage->count ? "; " : "", damage->whole);
    used = strlen(text);
    if (damage->unread)
        snprintf(text + used, size - used, "%sit is no text, and the rest was not read",
                 damage->count || damage->cut ? "; " : "");
}

int flame_lines_open(struct flame_lines *lines, const char *name)
{
    struct stat status;
    *lines = (struct flame_lines){.name = name};
    int file = strcmp(name, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                      : open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return err_set(errno, "%s: cannot be read: %s", name, strerror(errno));
    if (fstat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(file);
        return err_set(EISDIR, "%s: is a directory, not a file of stacks", name);
    }
    lines->buffer = malloc(BUFFER_BYTES);
    if (!lines->buffer) {
        close(file);
        return err_no_memory();
    }
    int result = flame_bytes_open(file, &lines->source);
    if (result < 0)
        flame_lines_close(lines);
    return result;
}

void flame_lines_close(struct flame_lines *lines)
{
    flame_bytes_close(lines->source);
    free(lines->buffer);
    lines->source = NULL;
    lines->buffer = NULL;
}

/* Puts more behind what is there. */
static int fill(struct flame_lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    while (!lines->ended && lines->end < BUFFER_BYTES) {
        long got =
            flame_bytes_read(lines->source, lines->buffer + lines->end, BUFFER_BYTES - lines->end);
        if (got < 0)
            return err_set((int)-got, "%s: cannot be read: %s", lines->name, strerror((int)-got));
        lines->ended = got == 0;
        lines->damage.cut = lines->ended && flame_bytes_cut(lines->source);
        lines->end += (size_t)got;
        if (got > 0)
            break;
    }
    return 0;
}

int flame_lines_peek(struct flame_lines *lines, const char **text, size_t *length)
{
    int result = 0;
    while (result == 0 && !lines->ended && lines->end - lines->at < BUFFER_BYTES / 2)
        result = fill(lines);
    *text = lines->buffer + lines->at;
    *length = lines->end - lines->at;
    return result;
}

/* What is no text, a device say, may have no end. */
static int give_up(struct flame_lines *lines)
{
    lines->damage.unread = true;
    lines->at = lines->end = 0;
    lines->ended = true;
    return 0;
}

int flame_lines_next(struct flame_lines *lines, const char **text, size_t *length)
{
    size_t searched = 0;
    for (;;) {
        char *begin = lines->buffer + lines->at;
        size_t there = lines->end - lines->at;
        char *newline = memchr(begin + searched, '\n', there - searched);
        if (!newline && !lines->ended && there <= FLAME_LINE_MAX) {
            searched = there;
            int result = fill(lines);
            if (result < 0)
                return result;
            continue;
        }
        /* of a line that breaks off with the compressed data even the number may be a part */
        bool part = !newline && lines->ended && lines->damage.cut;
        if (!newline && (there == 0 || part)) {
            lines->at = lines->end;
            lines->damage.whole = lines->line;
            return 0;
        }
        size_t line = newline ? (size_t)(newline - begin) : there;
        bool rest = lines->skipping;
        bool too_long = line > FLAME_LINE_MAX;
        lines->at += line + (newline ? 1 : 0);
        lines->bytes += line + 1;
        lines->line += !rest;
        lines->skipping = !newline && !lines->ended;
        searched = 0;
        if (too_long && !rest)
            flame_damage_add(&lines->damage, lines->line, "longer than 1 MiB");
        lines->skipped = too_long || rest ? lines->skipped + line : 0;
        if (lines->skipped > FLAME_SKIP_MAX)
            return give_up(lines);
        if (too_long || rest)
            continue;
        lines->binary += memchr(begin, '\0', line) != NULL;
        if (lines->binary > FLAME_BINARY_MAX)
            return give_up(lines);
        *text = begin;
        *length = line > 0 && begin[line - 1] == '\r' ? line - 1 : line;
        return 1;
    }
}
