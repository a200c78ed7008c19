/* SPDX-License-Identifier: MIT */
#include "scaling.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

int scaling_new(struct scaling **scaling)
{
    *scaling = calloc(1, sizeof(**scaling));
    return *scaling ? 0 : err_no_memory();
}

static void free_series(struct scaling_series *series)
{
    for (size_t i = 0; i < series->cause_count; i++) {
        free(series->causes[i].kind);
        free(series->causes[i].name);
    }
    for (size_t i = 0; i < series->stage_count; i++)
        free(series->stages[i].name);
    for (size_t i = 0; i < series->sentence_count; i++)
        free(series->sentences[i]);
    free(series->causes);
    free(series->stages);
    free(series->sentences);
    free(series->points);
    free(series->group);
    free(series->name);
}

void scaling_free(struct scaling *scaling)
{
    if (!scaling)
        return;
    for (size_t i = 0; i < scaling->series_count; i++)
        free_series(&scaling->series[i]);
    for (size_t i = 0; i < scaling->note_count; i++)
        free(scaling->notes[i]);
    free(scaling->series);
    free(scaling->notes);
    free(scaling);
}

/* Makes room for one more and clears it; NULL with the message: no memory. */
static void *grow(void *rows, size_t count, size_t size)
{
    char *grown = realloc(rows, (count + 1) * size);
    if (!grown)
        err_no_memory();
    else
        memset(grown + count * size, 0, size);
    return grown;
}

int scaling_add_series(struct scaling *scaling, const char *group, const char *name,
                       struct scaling_series **series)
{
    struct scaling_series *grown =
        grow(scaling->series, scaling->series_count, sizeof(*scaling->series));
    if (!grown)
        return err_no_memory();
    scaling->series = grown;
    *series = &grown[scaling->series_count];
    (*series)->group = strdup(group);
    (*series)->name = strdup(name);
    scaling->series_count++;
    return (*series)->group && (*series)->name ? 0 : err_no_memory();
}

int scaling_add_point(struct scaling_series *series, const struct scaling_point *point)
{
    struct scaling_point *grown =
        grow(series->points, series->point_count, sizeof(*series->points));
    if (!grown)
        return err_no_memory();
    series->points = grown;
    grown[series->point_count++] = *point;
    return 0;
}

int scaling_add_cause(struct scaling_series *series, const char *kind, const char *name,
                      struct scaling_cause **cause)
{
    struct scaling_cause *grown =
        grow(series->causes, series->cause_count, sizeof(*series->causes));
    if (!grown)
        return err_no_memory();
    series->causes = grown;
    *cause = &grown[series->cause_count++];
    (*cause)->kind = strdup(kind);
    (*cause)->name = strdup(name);
    return (*cause)->kind && (*cause)->name ? 0 : err_no_memory();
}

int scaling_add_stage(struct scaling_series *series, const char *name, struct scaling_stage **stage)
{
    struct scaling_stage *grown =
        grow(series->stages, series->stage_count, sizeof(*series->stages));
    if (!grown)
        return err_no_memory();
    series->stages = grown;
    *stage = &grown[series->stage_count++];
    (*stage)->name = strdup(name);
    return (*stage)->name ? 0 : err_no_memory();
}

static int add_sentence(char ***sentences, size_t *count, const char *format, va_list arguments)
{
    char **grown = grow(*sentences, *count, sizeof(**sentences));
    if (!grown)
        return err_no_memory();
    *sentences = grown;
    if (vasprintf(&grown[*count], format, arguments) < 0) {
        grown[*count] = NULL;
        return err_no_memory();
    }
    ++*count;
    return 0;
}

int scaling_say(struct scaling_series *series, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = add_sentence(&series->sentences, &series->sentence_count, format, arguments);
    va_end(arguments);
    return result;
}

int scaling_note(struct scaling *scaling, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = add_sentence(&scaling->notes, &scaling->note_count, format, arguments);
    va_end(arguments);
    return result;
}
