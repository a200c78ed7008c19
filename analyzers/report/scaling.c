/* SPDX-License-Identifier: MIT */
#include "scaling.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "report_rows.h"

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

int scaling_add_series(struct scaling *scaling, const char *group, const char *name,
                       struct scaling_series **series)
{
    struct scaling_series *added =
        report_append(&scaling->series, &scaling->series_count, sizeof(*added));
    if (!added)
        return err_no_memory();
    *series = added;
    (*series)->group = strdup(group);
    (*series)->name = strdup(name);
    return (*series)->group && (*series)->name ? 0 : err_no_memory();
}

int scaling_add_point(struct scaling_series *series, const struct scaling_point *point)
{
    struct scaling_point *added =
        report_append(&series->points, &series->point_count, sizeof(*added));
    if (!added)
        return err_no_memory();
    *added = *point;
    return 0;
}

int scaling_add_cause(struct scaling_series *series, const char *kind, const char *name,
                      struct scaling_cause **cause)
{
    struct scaling_cause *added =
        report_append(&series->causes, &series->cause_count, sizeof(*added));
    if (!added)
        return err_no_memory();
    *cause = added;
    (*cause)->kind = strdup(kind);
    (*cause)->name = strdup(name);
    return (*cause)->kind && (*cause)->name ? 0 : err_no_memory();
}

int scaling_add_stage(struct scaling_series *series, const char *name, struct scaling_stage **stage)
{
    struct scaling_stage *added =
        report_append(&series->stages, &series->stage_count, sizeof(*added));
    if (!added)
        return err_no_memory();
    *stage = added;
    (*stage)->name = strdup(name);
    return (*stage)->name ? 0 : err_no_memory();
}

__attribute__((format(printf, 3, 0))) static int add_sentence(char ***sentences, size_t *count,
                                                              const char *format, va_list arguments)
{
    char **sentence = report_append(sentences, count, sizeof(*sentence));
    if (!sentence)
        return err_no_memory();
    if (vasprintf(sentence, format, arguments) < 0) {
        *sentence = NULL;
        return err_no_memory();
    }
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
