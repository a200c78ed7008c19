/* SPDX-License-Identifier: MIT */
#include "trace_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"

/* "DIRECTORY/NAME" */
static int join(char path[PATH_MAX], const char *directory, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        return err_set(ENAMETOOLONG, "%s/%s: the path is too long", directory, name);
    return 0;
}

int metadata_set_uuid(char *text, const unsigned char *uuid)
{
    static const char before[] = "uuid = \"";
    static const int groups[] = {4, 2, 2, 2, 6};
    char *place = strstr(text, before), written[40], *to = written;

    /* 36 characters: 32 digits in five groups */
    if (!place || strlen(place) < strlen(before) + 36)
        return err_set(EBADMSG, "the trace's metadata have no uuid");
    for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
        if (group > 0)
            *to++ = '-';
        for (int i = 0; i < groups[group]; i++)
            to += sprintf(to, "%02x", *uuid++);
    }
    memcpy(place + strlen(before), written, 36);
    return 0;
}

static void write_fact(FILE *out, const struct event_fact *fact)
{
    fprintf(out, "\t%s = ", fact->name);
    if (!fact->text) {
        fprintf(out, "%" PRIu64 ";\n", fact->number);
        return;
    }
    fputc('"', out);
    for (const char *c = fact->text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        /* TSDL strings are C's: a line break in one would end the trace's readability */
        fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
    }
    fputs("\";\n", out);
}

char *metadata_add_facts(const char *text, const struct event_fact *facts)
{
    static const char env[] = "\nenv {\n";
    const char *place = strstr(text, env);
    char *made = NULL;
    size_t size = 0;
    FILE *out;

    if (!place) {
        err_set(EBADMSG, "the trace's metadata have no environment");
        return NULL;
    }
    place += strlen(env);
    out = open_memstream(&made, &size);
    if (!out) {
        err_no_memory();
        return NULL;
    }
    fwrite(text, 1, (size_t)(place - text), out);
    for (; facts && facts->name; facts++)
        write_fact(out, facts);
    fputs(place, out);
    if (fclose(out) == EOF) {
        free(made);
        err_no_memory();
        return NULL;
    }
    return made;
}

char *metadata_read(const char *directory)
{
    char path[PATH_MAX];
    struct stat status;
    char *text = NULL;
    ssize_t got = -1;
    int file = -1;

    if (join(path, directory, "metadata") < 0)
        return NULL;
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &status) == 0 &&
        (text = calloc(1, (size_t)status.st_size + 1)) != NULL)
        got = read(file, text, (size_t)status.st_size);
    if (got < 0 || got != status.st_size) {
        err_set(errno ? errno : EIO, "%s: cannot be read: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file >= 0)
        close(file);
    return text;
}

int metadata_replace(const char *directory, const char *text)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    FILE *out;
    int result = join(path, directory, "metadata");

    /* hidden: babeltrace2 takes every other file for a stream */
    if (result == 0)
        result = join(fresh, directory, ".metadata");
    if (result < 0)
        return result;
    out = fopen(fresh, "we");
    if (!out)
        return err_set(errno, "%s: cannot be written: %s", fresh, strerror(errno));
    if (fputs(text, out) == EOF)
        result = -errno;
    if (fclose(out) == EOF && result == 0)
        result = -errno;
    if (result == 0 && rename(fresh, path) < 0)
        result = -errno;
    if (result < 0) {
        unlink(fresh);
        return err_set(-result, "%s: cannot be written: %s", path, strerror(-result));
    }
    return 0;
}
