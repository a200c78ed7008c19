/* SPDX-License-Identifier: MIT */
#include "scale_table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "err.h"

#define MAX_WORDS  16
#define MAX_POINTS 4096 /* of a series */
#define MAX_SERIES 64
#define MAX_LINE   4096
#define MAX_BYTES  (16u << 20)
#define NO_COLUMN  MAX_WORDS

enum column { COLUMN_DEPTH, COLUMN_RATE, COLUMN_LATENCY, COLUMN_COUNT };

/* How columns are called. A title is the word alone, or the word with a unit behind it. */
static const struct {
    const char *word;
    enum column column;
} titles[] = {
    {"depth", COLUMN_DEPTH},       {"thr", COLUMN_DEPTH},       {"threads", COLUMN_DEPTH},
    {"thread", COLUMN_DEPTH},      {"qd", COLUMN_DEPTH},        {"iodepth", COLUMN_DEPTH},
    {"clients", COLUMN_DEPTH},     {"jobs", COLUMN_DEPTH},      {"n", COLUMN_DEPTH},
    {"concurrency", COLUMN_DEPTH}, {"iops", COLUMN_RATE},       {"op/s", COLUMN_RATE},
    {"ops/s", COLUMN_RATE},        {"ops", COLUMN_RATE},        {"rate", COLUMN_RATE},
    {"ops_per_s", COLUMN_RATE},    {"throughput", COLUMN_RATE}, {"latency", COLUMN_LATENCY},
    {"lat", COLUMN_LATENCY},
};

static const struct {
    const char *word;
    double ns;
} units[] = {{"ns", 1},   {"us", 1e3},   {"µs", 1e3}, {"usec", 1e3},
             {"ms", 1e6}, {"msec", 1e6}, {"s", 1e9},  {"sec", 1e9}};

struct table {
    const char *name; /* weak */
    unsigned line;
    size_t bytes;                 /* up to here */
    size_t columns[COLUMN_COUNT]; /* which word; NO_COLUMN: none */
    size_t fields;                /* at most in a row */
    double unit_ns;
    char group[256], heading[256];
    bool heading_new;              /* no row has come since */
    struct scaling *scaling;       /* weak */
    struct scaling_series *series; /* weak; NULL: the next row begins one */
};

static int complain(const struct table *table, const char *what)
{
    return err_set(EBADMSG, "%s:%u: %s", table->name, table->line, what);
}

/* A field of a CSV line, in quotes or not; *line then points behind its separator, or is NULL. */
static char *take_field(char **line, const char *separator)
{
    char *field = *line + strspn(*line, " \t");
    if (*field == '"') {
        char *to = ++field, *from = field;
        while (*from && (*from != '"' || from[1] == '"'))
            from += *from == '"', *to++ = *from++;
        *line = *from ? strpbrk(from + 1, separator) : NULL;
        *to = '\0';
    } else {
        *line = strpbrk(field, separator);
    }
    if (*line)
        *(*line)++ = '\0';
    for (size_t length = strlen(field); length > 0 && strchr(" \t", field[length - 1]);)
        field[--length] = '\0';
    return field;
}

/* What parts the line's fields; NULL: blanks. */
static const char *separator_of(char **line)
{
    size_t length = strlen(*line);
    if (**line == '|') { /* Markdown: bars stand around the row, too */
        if (length > 1 && (*line)[length - 1] == '|')
            (*line)[length - 1] = '\0';
        ++*line;
        return "|";
    }
    return strchr(*line, ';') ? ";" : strchr(*line, ',') ? "," : NULL;
}

/* Parts the line at its separator, as RFC 4180 has it, where it has one; else at blanks. At most
 * MAX_WORDS fields are kept; what is returned may be one more. */
static size_t split(char *line, char *words[MAX_WORDS])
{
    size_t count = 0;
    const char *separator = separator_of(&line);
    if (separator) {
        while (line && count <= MAX_WORDS) {
            char *field = take_field(&line, separator);
            if (count < MAX_WORDS)
                words[count] = field;
            count++;
        }
        return count;
    }
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t|\"", &rest); word && count <= MAX_WORDS;
         word = strtok_r(NULL, " \t|\"", &rest), count++)
        if (count < MAX_WORDS)
            words[count] = word;
    return count;
}

/* A decimal number and nothing else. */
static bool number_of(const char *word, double *value)
{
    char *end;
    if (!*word || word[strspn(word, "0123456789.eE+-")] || !strpbrk(word, "0123456789"))
        return false;
    *value = strtod(word, &end);
    return *end == '\0' && isfinite(*value);
}

/* What the last digit of a number stands for. */
static double step_of(const char *word)
{
    const char *point = strchr(word, '.');
    return point ? pow(10, -(double)strspn(point + 1, "0123456789")) : 1;
}

/* The unit in a title, from behind its bracket; 0: none that is known. */
static double unit_of(const char *text)
{
    char unit[16];
    snprintf(unit, sizeof(unit), "%.*s", (int)strcspn(text, ")]"), text);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcasecmp(unit, units[i].word) == 0)
            return units[i].ns;
    return 0;
}

/* The column that is called so; COLUMN_COUNT: none. Sets the unit of a latency if the title has
 * one, 0 if it has one that is not known. */
static enum column title_of(const char *word, double *unit_ns)
{
    while (*word == '#')
        word++;
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        size_t length = strlen(titles[i].word);
        if (strncasecmp(word, titles[i].word, length) != 0)
            continue;
        const char *rest = word + length;
        rest += strspn(rest, " ");
        if (*rest && !strchr("([_", *rest))
            continue;
        if (*rest && titles[i].column == COLUMN_LATENCY) {
            double ns = unit_of(rest + 1);
            if (*rest == '_' && ns == 0)
                continue; /* lat_p99, say: another column */
            *unit_ns = ns;
        }
        return titles[i].column;
    }
    return COLUMN_COUNT;
}

/* Whether the words are column titles: then they say which column is which. */
static bool take_titles(struct table *table, char *const *words, size_t count)
{
    size_t columns[COLUMN_COUNT] = {NO_COLUMN, NO_COLUMN, NO_COLUMN};
    double unit_ns = 1e6;
    /* "# depth" is the title of the first column, too */
    size_t skipped = count > 0 && strcmp(words[0], "#") == 0;
    enum column column = COLUMN_COUNT;
    for (size_t i = skipped; i < count; i++) {
        if (strchr("([", *words[i]) && *words[i]) { /* "latency (ms)", parted at the blank */
            if (column == COLUMN_LATENCY)
                unit_ns = unit_of(words[i] + 1);
            skipped++;
            continue;
        }
        column = title_of(words[i], &unit_ns);
        if (column < COLUMN_COUNT && columns[column] == NO_COLUMN)
            columns[column] = i - skipped;
    }
    if (columns[COLUMN_DEPTH] == NO_COLUMN || columns[COLUMN_RATE] == NO_COLUMN)
        return false;
    memcpy(table->columns, columns, sizeof(columns));
    table->fields = count - skipped;
    table->unit_ns = unit_ns;
    return true;
}

static void take_heading(struct table *table, const char *text)
{
    if (table->heading_new)
        snprintf(table->group, sizeof(table->group), "%s", table->heading);
    snprintf(table->heading, sizeof(table->heading), "%.200s", text);
    table->heading_new = true;
    table->series = NULL;
}

static int take_point(struct table *table, char *const *words, size_t count)
{
    struct scaling_point point = {.line = table->line};
    double *const places[COLUMN_COUNT] = {&point.depth, &point.rate, &point.latency_ns};
    static const char *const names[COLUMN_COUNT] = {"depth", "rate", "latency"};
    if (count > table->fields)
        return err_set(EBADMSG,
                       "%s:%u: more fields than there are columns: a row is a depth, ops a second, "
                       "and perhaps a mean latency; titles above the rows name other columns",
                       table->name, table->line);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        size_t column = table->columns[i];
        if (i == COLUMN_LATENCY && column >= count)
            continue;
        if (column >= count)
            return complain(table, "a row needs a depth and a rate (ops a second)");
        if (!number_of(words[column], places[i]))
            return err_set(EBADMSG,
                           "%s:%u: '%.32s' is no number: a row is a depth, ops a second, "
                           "and perhaps a mean latency",
                           table->name, table->line, words[column]);
        if (*places[i] < 1e-6 || *places[i] > 1e12)
            return err_set(EBADMSG,
                           "%s:%u: a %s of %.32s: it must be above 0.000001, and below 1e12",
                           table->name, table->line, names[i], words[column]);
    }
    if (point.latency_ns > 0) {
        point.latency_ns *= table->unit_ns;
        point.latency_step = table->unit_ns * step_of(words[table->columns[COLUMN_LATENCY]]);
    }
    if (!table->series) {
        if (table->scaling->series_count == MAX_SERIES)
            return complain(table, "more than 64 series: split the file");
        int result =
            scaling_add_series(table->scaling, table->group, table->heading, &table->series);
        if (result < 0)
            return result;
    }
    table->heading_new = false;
    if (table->series->point_count == MAX_POINTS)
        return complain(table, "more than 4,096 rows in one series: split the file");
    return scaling_add_point(table->series, &point);
}

static int take_line(struct table *table, char *line, size_t length)
{
    char text[MAX_LINE], *words[MAX_WORDS] = {NULL};
    double value;
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        line[--length] = '\0';
    while (isspace((unsigned char)*line))
        line++;
    snprintf(text, sizeof(text), "%s", line);
    size_t count = split(line, words);
    /* also the line below the titles of a table in Markdown */
    if (count > MAX_WORDS)
        return complain(table, "more than 16 fields: is this a table?");
    if (count == 0 || *text == '\0')
        return 0;
    if (take_titles(table, words, count))
        return table->unit_ns > 0
                   ? 0
                   : complain(table, "the unit of the latency is not known: ns, us, ms or s");
    if (*text == '#' || text[strspn(text, "-|:+= ")] == '\0')
        return 0;
    if ((isdigit((unsigned char)*words[0]) || strchr("+-.", *words[0])) &&
        (count > 1 || number_of(words[0], &value)))
        return take_point(table, words, count);
    take_heading(table, text);
    return 0;
}

/* A line, as far as one may be long: what has no lines, or no end, is told at the first one. 1: it
 * is there, 0: there is none any more, or a negative errno. */
static int read_line(struct table *table, FILE *in, char line[MAX_LINE], size_t *length)
{
    int byte;
    *length = 0;
    table->line++;
    while ((byte = getc(in)) != EOF) {
        table->bytes++;
        if (byte == '\0' || *length == MAX_LINE - 1)
            return complain(table, "no text, or a line of more than 4,095 bytes: is this a table?");
        if (table->bytes > MAX_BYTES)
            return complain(table, "more than 16 MiB: is this a table?");
        line[(*length)++] = (char)byte;
        if (byte == '\n')
            break;
    }
    line[*length] = '\0';
    return *length > 0;
}

int scale_table_read(FILE *in, const char *name, struct scaling *scaling)
{
    struct table table = {.name = name,
                          .columns = {0, 1, 2},
                          .fields = COLUMN_COUNT,
                          .unit_ns = 1e6,
                          .scaling = scaling};
    size_t before = scaling->series_count, length = 0;
    char line[MAX_LINE] = "";
    int result, got;
    do {
        result = got = read_line(&table, in, line, &length);
        /* spreadsheets begin a file with a byte order mark */
        size_t mark = table.line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        if (got > 0)
            result = take_line(&table, line + mark, length - mark);
    } while (got > 0 && result == 0);
    if (result == 0 && ferror(in))
        result = err_set(EIO, "%s: cannot be read", name);
    if (result == 0 && scaling->series_count == before)
        result = err_set(EBADMSG,
                         "%s: no row in it: a row is a depth, ops a second, and perhaps a mean "
                         "latency",
                         name);
    return result;
}
