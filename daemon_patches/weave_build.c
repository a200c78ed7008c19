/* SPDX-License-Identifier: MIT */
#include "weave_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "weave_text.h"

/* Whether the line of the clean text that ends at `end` (behind its \n) goes on in the next. */
static bool goes_on(const struct weave_file *file, size_t end)
{
    size_t at = end > 0 ? end - 1 : 0;
    at -= at > 0 && file->clean[at - 1] == '\r';
    return at > 0 && file->clean[at - 1] == '\\';
}

static bool is_anchor(const char *line, size_t length, const char *anchor)
{
    size_t blanks = 0, wanted = strlen(anchor);
    while (blanks < length && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    while (length > blanks && strchr(" \t\r", line[length - 1]))
        length--;
    return length - blanks == wanted && memcmp(line + blanks, anchor, wanted) == 0;
}

/* The one line that is the anchor: [*begin, *end). */
static int find_anchor(const struct weave_file *file, const char *anchor, size_t *begin,
                       size_t *end)
{
    unsigned line = 1, found = 0;
    for (size_t at = 0, next; at < file->clean_size; at = next, line++) {
        const char *newline = memchr(file->clean + at, '\n', file->clean_size - at);
        next = newline ? (size_t)(newline - file->clean) + 1 : file->clean_size;
        if (!is_anchor(file->clean + at, next - at - (newline != NULL), anchor))
            continue;
        if (found)
            return err_set(EEXIST, "the line '%s' is there more than once, in lines %u and %u",
                           anchor, found, line);
        found = line;
        *begin = at;
        *end = next;
    }
    return found ? 0 : err_set(ENOENT, "the line '%s' is not there", anchor);
}

static int find_offset(const struct weave_file *file, const struct weave_build *build,
                       size_t *offset)
{
    size_t begin = file->clean_size, end = file->clean_size;
    int result = build->anchor ? find_anchor(file, build->anchor, &begin, &end) : 0;
    if (result)
        return result;
    *offset = build->position == WEAVE_BEFORE ? begin : end;
    if (*offset > 0 && file->clean[*offset - 1] != '\n')
        return err_set(EINVAL, "its last line does not end");
    if (goes_on(file, *offset))
        return err_set(EINVAL, "the line above the place goes on in the next");
    return 0;
}

/* The line with its mark and end; NULL when there is no memory. */
static char *make_line(const struct weave_file *file, const struct weave_build *build,
                       const char *line, const char *prefix, size_t offset)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (const char *at = line; *at;) {
        if (strncmp(at, "@include@", 9) == 0) {
            fprintf(out, "%s/include", prefix);
            at += 9;
        } else if (strncmp(at, "@library@", 9) == 0) {
            fprintf(out, "%s/" OPTRAIL_LIBRARY, prefix);
            at += 9;
        } else {
            putc(*at++, out);
        }
    }
    fprintf(out, WEAVE_BUILD_MARK "%s%s", build->name, weave_file_line_end(file, offset));
    bool good = !ferror(out);
    if (fclose(out) == 0 && good)
        return text;
    free(text);
    return NULL;
}

bool weave_probes_there(const char *prefix)
{
    char *header = NULL;
    bool there =
        asprintf(&header, "%s/include/optrail/probe.h", prefix) >= 0 && access(header, R_OK) == 0;
    free(header);
    return there;
}

int weave_probes_prefix(const char *given, char **prefix)
{
    char *here = NULL;
    *prefix = NULL;
    if (!weave_probes_there(given))
        return err_set(ENOENT,
                       "%s: include/optrail/probe.h is not in it: --probes is the prefix that "
                       "optrail is installed below",
                       given);
    if (*given != '/' && !(here = getcwd(NULL, 0)))
        return err_set(errno, "%s: cannot tell in which directory it is: %s", given,
                       strerror(errno));
    int length = asprintf(prefix, "%s%s%s", here ? here : "", here ? "/" : "", given);
    free(here);
    if (length < 0) {
        *prefix = NULL;
        return err_no_memory();
    }
    for (const char *at = *prefix; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == '#') {
            int result =
                err_set(EINVAL, "%s: blanks and # in it would end a name in a build file", *prefix);
            free(*prefix);
            *prefix = NULL;
            return result;
        }
    return 0;
}

int weave_build_place(struct weave_file *file, const struct weave_build *build, const char *prefix,
                      size_t index)
{
    size_t offset;
    int result = find_offset(file, build, &offset);
    for (size_t i = 0; result == 0 && i < build->line_count; i++) {
        char *text = make_line(file, build, build->lines[i], prefix, offset);
        result = text ? weave_file_add(file, offset, build->position == WEAVE_BEFORE, index, text)
                      : err_no_memory();
    }
    return result;
}
