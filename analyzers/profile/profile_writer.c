/* SPDX-License-Identifier: MIT */
#include "profile_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "profile_seal.h"
#include "whole_file.h"

struct profile_writer {
    FILE *out;   /* owned: into text */
    char *text;  /* owned */
    size_t size; /* as of the last flush */
    uint64_t rows;
};

int profile_writer_new(struct profile_writer **writer)
{
    struct profile_writer *made = calloc(1, sizeof(*made));
    if (!made || !(made->out = open_memstream(&made->text, &made->size))) {
        free(made);
        return err_no_memory();
    }
    fprintf(made->out, "%s %d", PROFILE_MAGIC, PROFILE_VERSION);
    *writer = made;
    return 0;
}

void profile_writer_free(struct profile_writer *writer)
{
    if (!writer)
        return;
    fclose(writer->out);
    free(writer->text);
    free(writer);
}

void profile_put_row(struct profile_writer *writer, const char *keyword)
{
    fprintf(writer->out, "\n%s", keyword);
    writer->rows++;
}

void profile_put_number(struct profile_writer *writer, uint64_t number)
{
    fprintf(writer->out, " %" PRIu64, number < PROFILE_MAX_NUMBER ? number : PROFILE_MAX_NUMBER);
}

void profile_put_word(struct profile_writer *writer, const char *word)
{
    fputc(' ', writer->out);
    if (!*word)
        fputc('%', writer->out);
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '%' || *c == 0x7f)
            fprintf(writer->out, "%%%02X", (unsigned char)*c);
        else
            fputc(*c, writer->out);
}

void profile_put_histogram(struct profile_writer *writer, const struct histogram *histogram)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        used += histogram->buckets[i] > 0;
    profile_put_number(writer, histogram->sum);
    profile_put_number(writer, used ? histogram->min : 0);
    profile_put_number(writer, histogram->max);
    profile_put_number(writer, used);
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->buckets[i] == 0)
            continue;
        profile_put_number(writer, i);
        profile_put_number(writer, histogram->buckets[i]);
    }
}

int profile_writer_save(struct profile_writer *writer, const char *file)
{
    fputc('\n', writer->out);
    if (fflush(writer->out) == EOF || ferror(writer->out))
        return err_no_memory();
    uint64_t seal = profile_seal(writer->text, writer->size);
    fprintf(writer->out, "end %" PRIu64 " %016" PRIx64 "\n", writer->rows, seal);
    if (fflush(writer->out) == EOF || ferror(writer->out))
        return err_no_memory();
    int rc = whole_file_write(file, writer->text, writer->size);
    return rc < 0 ? err_set(-rc, "%s: the profile cannot be written: %s", file, strerror(-rc)) : 0;
}
