/* SPDX-License-Identifier: MIT */
#include "frame_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "file_names.h"

/* Files that are told of, over all processes; what comes beyond is as if it were missing. */
#define FILES 4096u

/* A file that a process told of. */
struct told_file {
    uint32_t pid;
    bool several;     /* another one of this name as well: which one a frame means is not known */
    const char *name; /* weak: the end of `text` */
    char *text;       /* owned: as in module.define */
    struct opened_file *file; /* weak */
};

/* What is here of a file; processes of one program share it. */
struct opened_file {
    struct opened_file *next;
    char *text; /* owned */
    enum file_names_found found;
    struct file_names *names; /* owned; NULL unless it was found */
};

struct frame_names {
    struct read_frames *counts; /* weak */
    size_t told_count;
    struct told_file told[FILES];
    struct opened_file *opened;
    size_t size;
    char *text; /* owned: the last stack's */
};

struct frame_names *frame_names_new(struct read_frames *counts)
{
    struct frame_names *names = calloc(1, sizeof(*names));

    if (!names)
        err_no_memory();
    else
        names->counts = counts;
    return names;
}

void frame_names_free(struct frame_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->told_count; i++)
        free(names->told[i].text);
    while (names->opened) {
        struct opened_file *next = names->opened->next;
        file_names_free(names->opened->names);
        free(names->opened->text);
        free(names->opened);
        names->opened = next;
    }
    free(names->text);
    free(names);
}

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* "BUILD_ID PATH": the path, and the build-id; NULL: it is no such text. */
static const char *parse(const char *text, struct build_id *id)
{
    *id = (struct build_id){0};
    while (digit(text[0]) >= 0 && digit(text[1]) >= 0 && id->size < BUILD_ID_MAX) {
        id->bytes[id->size++] = (uint8_t)((unsigned)digit(text[0]) << 4 | (unsigned)digit(text[1]));
        text += 2;
    }
    return id->size > 0 && text[0] == ' ' && text[1] == '/' ? text + 1 : NULL;
}

static int open_file(struct frame_names *names, const char *text, struct opened_file **file)
{
    struct build_id id;
    const char *path = parse(text, &id);

    for (*file = names->opened; *file; *file = (*file)->next)
        if (strcmp((*file)->text, text) == 0)
            return 0;
    struct opened_file *made = calloc(1, sizeof(*made));
    if (!made || !(made->text = strdup(text))) {
        free(made);
        return err_no_memory();
    }
    int result = file_names_open(path, &id, &made->found, &made->names);
    if (result < 0) {
        free(made->text);
        free(made);
        return result;
    }
    made->next = names->opened;
    names->opened = made;
    *file = made;
    return 0;
}

static struct told_file *find(struct frame_names *names, uint32_t pid, const char *name,
                              size_t length)
{
    for (size_t i = 0; i < names->told_count; i++) {
        struct told_file *told = &names->told[i];
        if (told->pid == pid && strncmp(told->name, name, length) == 0 &&
            told->name[length] == '\0')
            return told;
    }
    return NULL;
}

static int learn(struct frame_names *names, uint32_t pid, const char *text)
{
    struct build_id id;
    const char *path = parse(text, &id);

    if (!path)
        return 0;
    const char *name = strrchr(path, '/') + 1;
    struct told_file *told = find(names, pid, name, strlen(name));
    if (told) {
        told->several = told->several || strcmp(told->text, text) != 0;
        return 0;
    }
    if (names->told_count == FILES)
        return 0;
    char *copy = strdup(text);
    if (!copy)
        return err_no_memory();
    names->told[names->told_count++] =
        (struct told_file){.pid = pid, .text = copy, .name = copy + (name - text)};
    return 0;
}

static int append(struct frame_names *names, size_t *used, const char *more, size_t length)
{
    if (*used + length + 1 > names->size) {
        size_t size = 2 * (*used + length + 1);
        char *bigger = realloc(names->text, size);
        if (!bigger)
            return err_no_memory();
        names->text = bigger;
        names->size = size;
    }
    memcpy(names->text + *used, more, length);
    *used += length;
    names->text[*used] = '\0';
    return 0;
}

/* The file and the address that "module+0xoffset" tells; false: it is no such frame. */
static bool take_apart(const char *frame, size_t length, size_t *name, uint64_t *address)
{
    size_t at = length;

    *address = 0;
    while (at > 0 && digit(frame[at - 1]) >= 0)
        at--;
    if (at < 4 || at == length || length - at > 16 || memcmp(frame + at - 3, "+0x", 3) != 0)
        return false;
    for (size_t i = at; i < length; i++)
        *address = *address << 4 | (unsigned)digit(frame[i]);
    *name = at - 3;
    return true;
}

static void keep(struct read_frames *counts, uint64_t *count, const struct told_file *told)
{
    (*count)++;
    if (!counts->example[0])
        snprintf(counts->example, sizeof(counts->example), "%.*s", (int)sizeof(counts->example) - 1,
                 told->name);
}

/* The frame's name, or the frame as it is. */
static int name_frame(struct frame_names *names, uint32_t pid, const char *frame, size_t length,
                      size_t *used)
{
    struct read_frames *counts = names->counts;
    struct told_file *told = NULL;
    struct file_name name;
    uint64_t address;
    size_t end;
    char start[32];

    if (take_apart(frame, length, &end, &address))
        told = find(names, pid, frame, end);
    if (!told)
        return append(names, used, frame, length);
    int result = told->file ? 0 : open_file(names, told->text, &told->file);
    if (result < 0)
        return result;
    counts->told++;
    if (told->several)
        keep(counts, &counts->ambiguous, told);
    else if (told->file->found == FILE_NAMES_OTHER_BUILD)
        keep(counts, &counts->other_build, told);
    else if (told->file->found == FILE_NAMES_MISSING)
        keep(counts, &counts->missing, told);
    if (told->several || !told->file->names)
        return append(names, used, frame, length);
    result = file_names_find(told->file->names, address, &name);
    if (result < 0)
        return result;
    if (!name.function) {
        snprintf(start, sizeof(start), "+0x%" PRIx64, name.start);
        result = append(names, used, frame, end);
        return result < 0 ? result : append(names, used, start, strlen(start));
    }
    counts->named++;
    size_t from = *used;
    result = append(names, used, name.function, strlen(name.function));
    for (size_t i = from; result == 0 && i < *used; i++)
        if ((unsigned char)names->text[i] < ' ' || names->text[i] == ';')
            names->text[i] = '_';
    return result;
}

static int name_stack(struct frame_names *names, uint32_t pid, const char *text)
{
    size_t used = 0;
    int result = append(names, &used, "", 0);

    while (result == 0) {
        size_t length = strcspn(text, ";");
        result = name_frame(names, pid, text, length, &used);
        if (result < 0 || text[length] == '\0')
            break;
        result = append(names, &used, ";", 1);
        text += length + 1;
    }
    return result;
}

int frame_names_event(struct frame_names *names, struct optrail_event *event)
{
    const char *text = (const char *)(uintptr_t)event->arg0; /* NOLINT(performance-no-int-to-ptr) */

    if (!text)
        return 0;
    if (event->point == POINT_module_define)
        return learn(names, event->pid, text);
    /* what no process told of has names already, or will never have any */
    if (event->point != POINT_stack_define || names->told_count == 0)
        return 0;
    int result = name_stack(names, event->pid, text);
    if (result == 0)
        event->arg0 = (uint64_t)(uintptr_t)names->text;
    return result;
}
