/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "suggest.h"

static const struct option_row *find_name(const struct command *command, const char *name,
                                          size_t length)
{
    for (const struct option_row *row = command->options; row && row->name; row++)
        if (strncmp(row->name, name, length) == 0 && row->name[length] == '\0')
            return row;
    return NULL;
}

static const struct option_row *find_letter(const struct command *command, char letter)
{
    for (const struct option_row *row = command->options; row && row->name; row++)
        if (row->letter && row->letter == letter)
            return row;
    return NULL;
}

static int unknown_option(const struct command *command, const char *word, size_t length)
{
    struct suggestion suggestion = {0};

    suggest_begin(&suggestion, word, length);
    for (const struct option_row *row = command->options; row && row->name; row++)
        suggest_try(&suggestion, row->name);
    if (suggestion.nearest)
        return err_set(EINVAL, "%s has no option --%.*s: do you mean --%s?", command->name,
                       (int)length, word, suggestion.nearest);
    return err_set(EINVAL, "%s has no option --%.*s", command->name, (int)length, word);
}

static int store_number(const struct option_row *row, const char *text)
{
    char *end;
    intmax_t value;

    errno = 0;
    value = strtoimax(text, &end, 0);
    if (errno || end == text || *end)
        return err_set(EINVAL, "--%s: '%s' is no whole number", row->name, text);
    if ((double)value < row->minimum || (double)value > row->maximum)
        return err_set(EINVAL, "--%s: %jd is not between %.0f and %.0f", row->name, value,
                       row->minimum, row->maximum);
    *(int64_t *)row->value = value;
    return 0;
}

/* What a unit behind the number makes of it; 0: no unit that we know. */
static double unit_seconds(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].seconds;
    return 0;
}

static int store_seconds(const struct option_row *row, const char *text)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (errno || end == text || unit_seconds(end) == 0 || !isfinite(value))
        return err_set(EINVAL, "--%s: '%s' is no number of seconds", row->name, text);
    value *= unit_seconds(end);
    if (value < row->minimum || value > row->maximum)
        return err_set(EINVAL, "--%s: %g is not between %g and %g seconds", row->name, value,
                       row->minimum, row->maximum);
    *(double *)row->value = value;
    return 0;
}

static int store_words(const struct option_row *row, const char *text)
{
    struct option_words *words = row->value;

    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (length == 0)
            return err_set(EINVAL, "--%s: a word is missing at a comma or at the end", row->name);
        if (words->count == sizeof(words->words) / sizeof(words->words[0]))
            return err_set(EINVAL, "--%s: more than %zu of them", row->name, words->count);
        words->words[words->count++] = (struct option_word){text, length};
        text += length;
        if (!*text)
            return 0;
    }
}

static int store(const struct option_row *row, const char *text)
{
    if (row->given)
        *row->given = true;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)row->value = true;
        return 0;
    case OPTION_STRING:
        if (!*text)
            return err_set(EINVAL, "--%s needs a value: --%s %s", row->name, row->name,
                           row->argument);
        *(const char **)row->value = text;
        return 0;
    case OPTION_NUMBER:
        return store_number(row, text);
    case OPTION_SECONDS:
        return store_seconds(row, text);
    case OPTION_WORDS:
        return store_words(row, text);
    }
    return 0;
}

/* The words that are being parsed; `next` is the one behind the option at hand. */
struct words {
    int count, next;
    char **words;
};

/* Takes the option's value: what stands behind it in the same word, or the next word. */
static int store_with_value(const struct option_row *row, const char *attached, struct words *words)
{
    if (attached)
        return store(row, attached);
    if (words->next >= words->count)
        return err_set(EINVAL, "--%s needs a value: --%s %s", row->name, row->name, row->argument);
    return store(row, words->words[words->next++]);
}

static int parse_long(const struct command *command, const char *word, struct words *words)
{
    size_t length = strcspn(word, "=");
    const char *attached = word[length] ? word + length + 1 : NULL;
    const struct option_row *row = find_name(command, word, length);

    if (!row)
        return unknown_option(command, word, length);
    if (row->type != OPTION_FLAG)
        return store_with_value(row, attached, words);
    if (attached)
        return err_set(EINVAL, "--%s takes no value", row->name);
    return store(row, NULL);
}

/* "-p 5", "-p5", and flags in one word, as in "-ab". */
static int parse_letters(const struct command *command, const char *letters, struct words *words)
{
    for (; *letters; letters++) {
        const struct option_row *row = find_letter(command, *letters);
        if (!row)
            return err_set(EINVAL, "%s has no option -%c", command->name, *letters);
        if (row->type != OPTION_FLAG)
            return store_with_value(row, letters[1] ? letters + 1 : NULL, words);
        int result = store(row, NULL);
        if (result < 0)
            return result;
    }
    return 0;
}

static int check_count(const struct command *command, int count)
{
    if (count < command->minimum_arguments)
        return err_set(EINVAL, "%s needs %s", command->name, command->arguments);
    if (command->maximum_arguments >= 0 && count > command->maximum_arguments) {
        if (command->maximum_arguments == 0)
            return err_set(EINVAL, "%s takes no arguments", command->name);
        return err_set(EINVAL, "%s takes %s and no more", command->name, command->arguments);
    }
    return 0;
}

int command_parse(const struct command *command, int *argc, char **argv)
{
    struct words words = {.count = *argc, .next = 1, .words = argv};
    int kept = 0, result = 0;
    bool options = true;

    while (result == 0 && words.next < words.count) {
        char *word = argv[words.next++];
        if (!options || word[0] != '-' || word[1] == '\0') {
            /* an argument; options may still follow. Those before it are used up: its place is free
             */
            argv[kept++] = word;
        } else if (strcmp(word, "--") == 0) {
            options = false;
        } else if (strcmp(word, "--help") == 0 ||
                   (strcmp(word, "-h") == 0 && !find_letter(command, 'h'))) {
            command_usage(command, stdout);
            return 1;
        } else if (word[1] == '-') {
            result = parse_long(command, word + 2, &words);
        } else {
            result = parse_letters(command, word + 1, &words);
        }
    }
    *argc = kept;
    for (int i = 0; result == 0 && i < kept; i++)
        if (!*argv[i])
            result = err_set(EINVAL, "%s: an empty argument names nothing: %s %s", command->name,
                             command->name, command->arguments);
    return result < 0 ? result : check_count(command, kept);
}
