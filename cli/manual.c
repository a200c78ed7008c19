/* SPDX-License-Identifier: MIT */
/* --help and the manual pages, made from the rows of a command. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "command.h"

#define HELP_WIDTH 80

/* Writes a paragraph, broken at blanks. */
static void paragraph(FILE *out, const char *text, size_t length, int indent)
{
    int column = 0;

    for (size_t at = 0; at < length;) {
        size_t word = strcspn(text + at, " \n");
        if (at + word > length)
            word = length - at;
        if (word > 0) {
            if (column > 0 && column + 1 + (int)word > HELP_WIDTH - indent) {
                fputc('\n', out);
                column = 0;
            }
            column += fprintf(out, "%*s%.*s", column ? 1 : indent, "", (int)word, text + at) -
                      (column ? 0 : indent);
        }
        at += word + 1;
    }
    fputc('\n', out);
}

/* Calls `write` for each paragraph of `text` (parted by empty lines). */
static void each_paragraph(const char *text, void (*write)(FILE *, const char *, size_t), FILE *out)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        write(out, text, length);
        text += length;
        while (*text == '\n')
            text++;
    }
}

static void help_paragraph(FILE *out, const char *text, size_t length)
{
    fputc('\n', out);
    paragraph(out, text, length, 0);
}

/* "-p, --pid PID" */
static int option_name(char *name, size_t size, const struct option_row *row)
{
    char letter[8] = "";

    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    return snprintf(name, size, "%s--%s%s%s", letter, row->name, row->argument ? " " : "",
                    row->argument ? row->argument : "");
}

static const struct option_row help_row = {
    .name = "help", .type = OPTION_FLAG, .text = "print this and do nothing else"};

static void usage_option(FILE *out, const struct option_row *row)
{
    char name[128];
    int length = option_name(name, sizeof(name), row);

    fprintf(out, "  %s", name);
    if (length > 24) {
        fputc('\n', out);
        length = -2;
    }
    fprintf(out, "%*s", 26 - length - 2, "");
    /* the first line continues behind the name */
    char text[1024];
    snprintf(text, sizeof(text), "%s", row->text);
    int column = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (column > 0 && column + 1 + (int)strlen(word) > HELP_WIDTH - 26) {
            fprintf(out, "\n%26s", "");
            column = 0;
        }
        column += fprintf(out, "%s%s", column ? " " : "", word);
    }
    fputc('\n', out);
}

static void usage_line(const struct command *command, FILE *out)
{
    fprintf(out, "usage: optrail %s%s%s%s\n", command->name,
            command->options && command->options->name ? " [OPTION...]" : "",
            *command->arguments ? " " : "", command->arguments);
}

void command_usage(const struct command *command, FILE *out)
{
    usage_line(command, out);
    fputc('\n', out);
    paragraph(out, command->summary, strlen(command->summary), 0);
    if (command->text)
        each_paragraph(command->text, help_paragraph, out);
    fputs("\nOptions:\n", out);
    for (const struct option_row *row = command->options; row && row->name; row++)
        usage_option(out, row);
    usage_option(out, &help_row);
    if (!command->examples || !*command->examples)
        return;
    fputs("\nExamples:\n", out);
    for (const char *line = command->examples; *line;) {
        size_t length = strcspn(line, "\n"), tab = strcspn(line, "\t\n");
        fprintf(out, "  %.*s\n", (int)tab, line);
        if (tab < length)
            fprintf(out, "      %.*s\n", (int)(length - tab - 1), line + tab + 1);
        line += length + (line[length] == '\n');
    }
}

/* Text for troff: backslashes and hyphens are escaped, and a dot or quote that begins a line is no
 * request. */
static void troff(FILE *out, const char *text, size_t length)
{
    bool line_begins = true;

    for (size_t i = 0; i < length; i++) {
        if (line_begins && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        line_begins = text[i] == '\n';
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void troff_paragraph(FILE *out, const char *text, size_t length)
{
    fputs(".PP\n", out);
    troff(out, text, length);
    fputc('\n', out);
}

static void manual_option(FILE *out, const struct option_row *row)
{
    fputs(".TP\n", out);
    if (row->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", out);
    troff(out, row->name, strlen(row->name));
    fputs("\\fR", out);
    if (row->argument)
        fprintf(out, " \\fI%s\\fR", row->argument);
    fputc('\n', out);
    troff(out, row->text, strlen(row->text));
    fputc('\n', out);
}

static void manual_examples(FILE *out, const char *examples)
{
    if (!examples || !*examples)
        return;
    fputs(".SH EXAMPLES\n", out);
    for (const char *line = examples; *line;) {
        size_t length = strcspn(line, "\n"), tab = strcspn(line, "\t\n");
        fputs(".TP\n\\fB", out);
        troff(out, line, tab);
        fputs("\\fR\n", out);
        if (tab < length)
            troff(out, line + tab + 1, length - tab - 1);
        fputc('\n', out);
        line += length + (line[length] == '\n');
    }
}

void command_manual(const struct command *command, FILE *out)
{
    fputs(".TH OPTRAIL\\-", out);
    for (const char *letter = command->name; *letter; letter++)
        fputc(toupper((unsigned char)*letter), out);
    fprintf(out, " 1 \"\" \"optrail %s\"\n.SH NAME\noptrail\\-%s \\- ", OPTRAIL_VERSION,
            command->name);
    troff(out, command->summary, strlen(command->summary));
    fprintf(out, "\n.SH SYNOPSIS\n\\fBoptrail %s\\fR [\\fIOPTION\\fR...]", command->name);
    if (*command->arguments)
        fprintf(out, " \\fI%s\\fR", command->arguments);
    fputs("\n.SH DESCRIPTION\n", out);
    each_paragraph(command->text ? command->text : command->summary, troff_paragraph, out);
    fputs(".SH OPTIONS\n", out);
    for (const struct option_row *row = command->options; row && row->name; row++)
        manual_option(out, row);
    manual_option(out, &help_row);
    manual_examples(out, command->examples);
    fputs(".SH SIGNALS\nThe first SIGINT, SIGTERM or SIGHUP ends the work, and what there is is "
          "reported or kept. More of them within two seconds change nothing; a later one ends "
          "optrail at once.\n"
          ".SH EXIT STATUS\n0: done (also when interrupted: what there was is reported). 1: it "
          "failed, or a part of the data could not be read. 2: wrong use.\n"
          ".SH SEE ALSO\n\\fBoptrail\\fR(1)\n",
          out);
}
