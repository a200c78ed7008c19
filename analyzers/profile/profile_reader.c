/* SPDX-License-Identifier: MIT */
#include "profile_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "profile_seal.h"

struct profile_reader {
    char *name; /* owned */
    char *text; /* owned; words are ended by '\0' as they are taken */
    char *next; /* the next row; NULL: none is left */
    char *rest; /* of this row; NULL: nothing */
    size_t row; /* from 1, as a line of the file */
    uint32_t version;
    int result;
};

int profile_wrong(struct profile_reader *reader, const char *format, ...)
{
    if (reader->result < 0)
        return reader->result;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reader->result = err_set(EBADMSG, "%s:%zu: %s", reader->name, reader->row, text);
    return reader->result;
}

static int open_file(const char *file, struct stat *status)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(errno, "%s: cannot open it: %s", file, strerror(errno));
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode))
        return fd;
    close(fd);
    return err_set(EBADMSG, "%s: no ordinary file", file);
}

bool profile_is_one(const char *file)
{
    char magic[sizeof(PROFILE_MAGIC)] = "";
    struct stat status;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool ordinary = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t got = ordinary ? read(fd, magic, sizeof(magic) - 1) : 0;
    close(fd);
    return got == sizeof(magic) - 1 && strcmp(magic, PROFILE_MAGIC) == 0;
}

/* The first row: what it is, and of which version. */
static int check_version(struct profile_reader *reader)
{
    char *end = reader->text;
    if (strncmp(end, PROFILE_MAGIC " ", sizeof(PROFILE_MAGIC)) != 0)
        return err_set(
            EBADMSG,
            "%s: is a file, but no profile: a trace is a directory, and a profile is what "
            "`optrail report --save FILE` writes",
            reader->name);
    unsigned long version = strtoul(end + sizeof(PROFILE_MAGIC), &end, 10);
    if (*end != '\n' || version == 0)
        return err_set(EBADMSG, "%s: damaged: its first line tells no version", reader->name);
    if (version > PROFILE_VERSION)
        return err_set(EBADMSG,
                       "%s: a profile of version %lu, this optrail reads up to %d: use a newer one",
                       reader->name, version, PROFILE_VERSION);
    reader->version = (uint32_t)version;
    reader->next = end + 1;
    reader->row = 1;
    return 0;
}

/* The last row must tell how many there are before it, and their seal. It is cut off. */
static int check_seal(struct profile_reader *reader, size_t size)
{
    char wanted[64];
    char *last = NULL;
    uint64_t rows = 0;
    for (char *c = reader->text; size > 0 && c + 1 < reader->text + size; c++)
        if (*c == '\n') {
            last = c + 1;
            rows++;
        }
    if (!last || reader->text[size - 1] != '\n' || strncmp(last, "end ", 4) != 0)
        return err_set(EBADMSG, "%s: cut off: its last line is not its end", reader->name);
    size_t before = (size_t)(last - reader->text);
    snprintf(wanted, sizeof(wanted), "end %" PRIu64 " %016" PRIx64 "\n", rows - 1,
             profile_seal(reader->text, before));
    if (strcmp(wanted, last) != 0)
        return err_set(EBADMSG, "%s: damaged: its end does not fit what stands before it",
                       reader->name);
    *last = '\0';
    return 0;
}

/* Takes `text` over, of which `size` bytes are the file's and one more is '\0'. */
static int make_reader(const char *name, char *text, size_t size, bool sealed,
                       struct profile_reader **reader)
{
    struct profile_reader *made = calloc(1, sizeof(*made));
    int rc = made && (made->name = strdup(name)) ? 0 : err_no_memory();
    if (made)
        made->text = text;
    else
        free(text);
    if (rc == 0 && memchr(text, '\0', size))
        rc = err_set(EBADMSG, "%s: damaged: a zero byte in a text", name);
    if (rc == 0)
        rc = check_version(made);
    if (rc == 0 && sealed)
        rc = check_seal(made, size);
    if (rc < 0) {
        profile_reader_free(made);
        return rc;
    }
    *reader = made;
    return 0;
}

int profile_reader_memory(const char *name, const char *bytes, size_t size, bool sealed,
                          struct profile_reader **reader)
{
    char *text = malloc(size + 1);
    if (!text)
        return err_no_memory();
    memcpy(text, bytes, size);
    text[size] = '\0';
    return make_reader(name, text, size, sealed, reader);
}

static int read_all(int fd, const char *file, size_t size, char *text)
{
    for (size_t have = 0; have < size;) {
        ssize_t got = read(fd, text + have, size - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_set(got < 0 ? errno : EBADMSG, "%s: cannot read it: %s", file,
                           got < 0 ? strerror(errno) : "it becomes shorter meanwhile");
        have += (size_t)got;
    }
    text[size] = '\0';
    return 0;
}

int profile_reader_open(const char *file, struct profile_reader **reader)
{
    struct stat status;
    int fd = open_file(file, &status);
    if (fd < 0)
        return fd;
    size_t size = (size_t)status.st_size;
    char *text = NULL;
    int rc = 0;
    if ((uint64_t)status.st_size > PROFILE_MAX_BYTES)
        rc = err_set(EBADMSG, "%s: no profile: larger than %llu MiB", file,
                     (unsigned long long)(PROFILE_MAX_BYTES >> 20));
    else if (!(text = malloc(size + 1)))
        rc = err_no_memory();
    if (rc == 0)
        rc = read_all(fd, file, size, text);
    close(fd);
    if (rc < 0) {
        free(text);
        return rc;
    }
    return make_reader(file, text, size, true, reader);
}

void profile_reader_free(struct profile_reader *reader)
{
    if (!reader)
        return;
    free(reader->name);
    free(reader->text);
    free(reader);
}

uint32_t profile_version(const struct profile_reader *reader)
{
    return reader->version;
}

const char *profile_name(const struct profile_reader *reader)
{
    return reader->name;
}

bool profile_take_row(struct profile_reader *reader, const char *keyword)
{
    size_t length = strlen(keyword);
    if (reader->result < 0)
        return false;
    if (reader->rest) {
        profile_wrong(reader, "more words than the row has");
        return false;
    }
    char *row = reader->next;
    if (!row || strncmp(row, keyword, length) != 0 ||
        (row[length] != ' ' && row[length] != '\n' && row[length] != '\0'))
        return false;
    char *end = strchr(row, '\n');
    reader->row++;
    reader->next = end && end[1] ? end + 1 : NULL;
    if (end)
        *end = '\0';
    reader->rest = row[length] == ' ' ? row + length + 1 : NULL;
    return true;
}

/* The next word of the row, as it stands there; NULL: there is none, which is a failure. */
static char *take_word(struct profile_reader *reader)
{
    char *word = reader->rest;
    if (reader->result < 0)
        return NULL;
    if (!word || !*word || *word == ' ') {
        profile_wrong(reader, "a word is missing");
        return NULL;
    }
    char *end = strchr(word, ' ');
    reader->rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return word;
}

uint64_t profile_number(struct profile_reader *reader, uint64_t maximum)
{
    const char *word = take_word(reader);
    uint64_t value = 0;
    if (!word)
        return 0;
    size_t length = strspn(word, "0123456789");
    for (size_t i = 0; i < length && value <= PROFILE_MAX_NUMBER; i++)
        value = 10 * value + (uint64_t)(word[i] - '0');
    if (length == 0 || word[length] || value > maximum || value > PROFILE_MAX_NUMBER) {
        profile_wrong(reader, "'%.40s' is no number up to %" PRIu64, word, maximum);
        return 0;
    }
    return value;
}

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *profile_word(struct profile_reader *reader)
{
    char *word = take_word(reader), *to = word;
    if (!word)
        return "";
    if (strcmp(word, "%") == 0)
        return "";
    for (const char *from = word; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hexadecimal(from[1]), low = high < 0 ? -1 : hexadecimal(from[2]);
        if (low < 0 || high * 16 + low == 0) {
            profile_wrong(reader, "'%%' without two hexadecimal digits");
            return "";
        }
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return word;
}

void profile_add_histogram(struct profile_reader *reader, struct histogram *histogram)
{
    uint64_t sum = profile_number(reader, PROFILE_MAX_NUMBER);
    uint64_t min = profile_number(reader, PROFILE_MAX_NUMBER);
    uint64_t max = profile_number(reader, PROFILE_MAX_NUMBER);
    uint64_t used = profile_number(reader, HISTOGRAM_BUCKETS), next = 0;
    for (uint64_t i = 0; i < used && reader->result == 0; i++) {
        uint64_t bucket = profile_number(reader, HISTOGRAM_BUCKETS - 1);
        uint64_t count = profile_number(reader, (uint64_t)1 << 48);
        if (reader->result < 0)
            return;
        if (bucket < next || count == 0 || (i == 0 && histogram_bucket(min) != bucket) ||
            (i + 1 == used && histogram_bucket(max) != bucket)) {
            profile_wrong(reader, "buckets of a histogram that contradict each other");
            return;
        }
        next = bucket + 1;
        histogram->buckets[bucket] += count;
        histogram->count += count;
    }
    if (reader->result < 0 || used == 0)
        return;
    histogram->sum += sum;
    if (min < histogram->min)
        histogram->min = min;
    if (max > histogram->max)
        histogram->max = max;
}

int profile_reader_result(const struct profile_reader *reader)
{
    return reader->result;
}

int profile_reader_end(struct profile_reader *reader)
{
    if (reader->result == 0 && reader->rest)
        return profile_wrong(reader, "more words than the row has");
    if (reader->result == 0 && reader->next) {
        reader->row++;
        return profile_wrong(reader, "a row that nobody knows: '%.*s'",
                             (int)strcspn(reader->next, " \n"), reader->next);
    }
    return reader->result;
}
