/* SPDX-License-Identifier: MIT */
#include "salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "packet_walk.h"

/* A trace and its stand-in. */
struct pair {
    const struct salvage *salvage;
    const char *trace; /* absolute */
    const char *name;  /* as the user gave it */
    const char *stand_in;
};

static void tell(const struct salvage *salvage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct salvage *salvage, const char *format, ...)
{
    char text[PATH_MAX + 256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    salvage->damaged(salvage->context, text);
}

/* "DIRECTORY/NAME"; false when that is too long. */
static bool join(char *path, const char *directory, const char *name)
{
    return (size_t)snprintf(path, PATH_MAX, "%s/%s", directory, name) < PATH_MAX;
}

static int link_file(const struct pair *pair, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];

    if (!join(from, pair->trace, name) || !join(to, pair->stand_in, name))
        return err_set(ENAMETOOLONG, "%s/%s: the path is too long", pair->name, name);
    if (symlink(from, to) < 0)
        return err_set(errno, "%s: cannot be made: %s", to, strerror(errno));
    return 0;
}

/* Copies the first `size` bytes. */
static int copy(int from, int to, uint64_t size)
{
    off_t offset = 0;
    char buffer[65536];

    while ((uint64_t)offset < size) {
        size_t wanted = size - (uint64_t)offset < sizeof(buffer) ? (size_t)(size - (uint64_t)offset)
                                                                 : sizeof(buffer);
        ssize_t got = pread(from, buffer, wanted, offset);
        if (got < 0)
            return -errno;
        if (got == 0)
            return -EIO;
        if (write(to, buffer, (size_t)got) != got)
            return errno ? -errno : -ENOSPC;
        offset += got;
    }
    return 0;
}

/* The packet that is cut off is said to be no longer than what there is of it: then its events can
 * be read up to the one that is cut itself, where reading fails. If it is cut within its padding,
 * its content stays what it was: zeros read as events would be such of wrong times. */
static int mend(int file, const struct packet_walk *walk, uint64_t size)
{
    uint64_t bits = (size - walk->whole) * 8;
    uint64_t content = walk->cut && walk->content_bits < bits ? walk->content_bits : bits;

    if (pwrite(file, &bits, sizeof(bits), (off_t)walk->size_offset) != (ssize_t)sizeof(bits) ||
        pwrite(file, &content, sizeof(content), (off_t)walk->content_offset) !=
            (ssize_t)sizeof(content))
        return -errno;
    return 0;
}

/* Where the zeros begin that end the file. */
static uint64_t end_of_content(int file, uint64_t begin, uint64_t size)
{
    unsigned char buffer[4096];

    while (size > begin) {
        size_t wanted = size - begin < sizeof(buffer) ? (size_t)(size - begin) : sizeof(buffer);
        if (pread(file, buffer, wanted, (off_t)(size - wanted)) != (ssize_t)wanted)
            return begin;
        for (size_t i = wanted; i > 0; i--)
            if (buffer[i - 1])
                return size - wanted + i;
        size -= wanted;
    }
    return begin;
}

static bool is_stream(int directory, const char *name)
{
    struct stat status;

    return name[0] != '.' && strcmp(name, "metadata") != 0 &&
           fstatat(directory, name, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           status.st_size > 0;
}

static bool is_open(int directory, const char *name)
{
    struct packet_walk walks[PACKET_LAYOUTS] = {0};
    struct stat status;
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC);

    if (file >= 0 && fstat(file, &status) == 0)
        packet_walks(file, (uint64_t)status.st_size, walks);
    if (file >= 0)
        close(file);
    return walks[0].open;
}

bool salvage_is_needed(const char *directory)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;
    bool needed = false;

    while (entries && !needed && (entry = readdir(entries)))
        needed = is_stream(dirfd(entries), entry->d_name) && is_open(dirfd(entries), entry->d_name);
    if (entries)
        closedir(entries);
    return needed;
}

/* Whether babeltrace2 opens a trace that has this file of `directory` alone. */
static int opens_alone(const struct pair *pair, const char *directory, const char *name,
                       bool *opens)
{
    char path[PATH_MAX], *alone = NULL;
    struct pair one = *pair;
    int result;

    if (asprintf(&alone, "%s/.alone", pair->stand_in) < 0)
        return err_no_memory();
    one.stand_in = alone;
    if (mkdir(alone, 0700) < 0)
        result = err_set(errno, "%s: cannot be made: %s", alone, strerror(errno));
    else
        result = link_file(&one, "metadata");
    one.trace = directory;
    if (result == 0 && name)
        result = link_file(&one, name);
    if (result == 0)
        *opens = pair->salvage->opens(pair->salvage->context, alone);
    if (name && join(path, alone, name))
        unlink(path);
    if (join(path, alone, "metadata"))
        unlink(path);
    rmdir(alone);
    free(alone);
    return result;
}

/* Makes the copy of what is sound by this walk of the file that is open as `from`, which is
 * `end` bytes. 0: done, *opens tells whether babeltrace2 takes it; then it stays. */
static int copy_by(const struct pair *pair, const char *name, int from,
                   const struct packet_walk *walk, uint64_t end, bool *opens)
{
    char path[PATH_MAX];
    int to, result;

    if (!join(path, pair->stand_in, name))
        return err_set(ENAMETOOLONG, "%s/%s: the path is too long", pair->name, name);
    to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return err_set(errno, "%s: cannot be made: %s", path, strerror(errno));
    *opens = false;
    result = copy(from, to, end);
    if (result == 0 && end > walk->whole)
        result = mend(to, walk, end);
    close(to);
    if (result < 0)
        result = err_set(-result,
                         "%s/%s: is damaged, and there is no room in %s to copy its sound part: "
                         "%s: set TMPDIR",
                         pair->name, name, pair->stand_in, strerror(-result));
    else
        result = opens_alone(pair, pair->stand_in, name, opens);
    if (!*opens)
        unlink(path);
    return result;
}

/* How much of a file of `size` bytes can be read by this walk: its whole packets, and of the one
 * behind them what there is. */
static uint64_t sound_part(int file, const struct packet_walk *walk, uint64_t size)
{
    if (walk->open)
        size = end_of_content(file, walk->whole, size);
    /* a packet that is cut before its events begin holds nothing; 256 bytes are more than any
     * header here has */
    return (walk->open || walk->cut) && size - walk->whole > 256 ? size : walk->whole;
}

/* The copy of what is sound of the file that is open as `from`, by the layout that fits the
 * metadata. */
static int copy_sound_part(const struct pair *pair, const char *name, int from)
{
    struct stat status;
    struct packet_walk walks[PACKET_LAYOUTS];

    if (fstat(from, &status) < 0)
        return err_set(errno, "%s/%s: %s", pair->name, name, strerror(errno));
    packet_walks(from, (uint64_t)status.st_size, walks);
    for (size_t i = 0; i < PACKET_LAYOUTS; i++) {
        uint64_t end = sound_part(from, &walks[i], (uint64_t)status.st_size);
        bool opens = false;
        int result = end == 0 ? 0 : copy_by(pair, name, from, &walks[i], end, &opens);
        if (result < 0)
            return result;
        if (!opens)
            continue;
        tell(pair->salvage,
             end > walks[i].whole ? "%s/%s: is cut off at byte %" PRIu64 ": read up to there"
                                  : "%s/%s: is damaged at byte %" PRIu64 ": read up to there",
             pair->name, name, end);
        return 0;
    }
    tell(pair->salvage, "%s/%s: is no CTF stream, or is cut off in its first packet: left out",
         pair->name, name);
    return 0;
}

static int take_file(const struct pair *pair, const char *name)
{
    char path[PATH_MAX];
    bool opens = false;
    int result = 0, file;

    if (!join(path, pair->trace, name))
        return err_set(ENAMETOOLONG, "%s/%s: the path is too long", pair->name, name);
    if (!is_open(AT_FDCWD, path))
        result = opens_alone(pair, pair->trace, name, &opens);
    if (result < 0)
        return result;
    if (opens)
        return link_file(pair, name);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        tell(pair->salvage, "%s/%s: cannot be opened: %s: left out", pair->name, name,
             strerror(errno));
        return 0;
    }
    result = copy_sound_part(pair, name, file);
    close(file);
    return result;
}

/* Every file of the trace but the metadata. */
static int take_files(const struct pair *pair)
{
    DIR *directory = opendir(pair->trace);
    struct dirent *entry;
    int result = 0;

    if (!directory)
        return err_set(errno, "%s: %s", pair->name, strerror(errno));
    while (result == 0 && (entry = readdir(directory))) {
        if (is_stream(dirfd(directory), entry->d_name))
            result = take_file(pair, entry->d_name);
    }
    closedir(directory);
    return result;
}

int salvage_trace(const struct salvage *salvage, const char *directory, char **stand_in)
{
    struct pair pair = {.salvage = salvage, .name = directory};
    const char *temporary = getenv("TMPDIR");
    char *trace = realpath(directory, NULL), *made = NULL;
    bool opens = false;
    int result;

    if (!trace)
        return err_set(errno, "%s: %s", directory, strerror(errno));
    if (asprintf(&made, "%s/optrail-XXXXXX", temporary && *temporary ? temporary : "/tmp") < 0) {
        free(trace);
        return err_no_memory();
    }
    if (!mkdtemp(made)) {
        result = err_set(errno, "%s: cannot be made: %s: set TMPDIR", made, strerror(errno));
        free(made);
        free(trace);
        return result;
    }
    /* links in it lead to it: TMPDIR may be relative */
    char *absolute = realpath(made, NULL);
    if (absolute) {
        free(made);
        made = absolute;
    }
    pair.trace = trace;
    pair.stand_in = made;
    result = opens_alone(&pair, trace, NULL, &opens);
    if (result == 0 && !opens) {
        tell(salvage,
             "%s/metadata: is empty, cut off or no CTF metadata, and without it nothing in the "
             "trace can be read: stop the session (lttng stop) before the trace is copied",
             directory);
    } else if (result == 0) {
        result = link_file(&pair, "metadata");
        if (result == 0)
            result = take_files(&pair);
    }
    free(trace);
    if (result < 0 || !opens) {
        salvage_remove(made);
        return result;
    }
    *stand_in = made;
    return 1;
}

void salvage_remove(char *stand_in)
{
    DIR *directory = stand_in ? opendir(stand_in) : NULL;
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (stand_in)
        rmdir(stand_in);
    free(stand_in);
}
