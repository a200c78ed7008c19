/* SPDX-License-Identifier: MIT */
/* Texts in traces, as a consumer sees them: whole, cut where they are too long, and from a stream
 * in which no text ends any more. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "err.h"
#include "event_source.h"
#include "reader.h"
#include "write_trace.h"

#define LONGER_BYTES (EVENT_TEXT_MAX + 1000u)
#define TEXTS        5

/* What is written, and what was read. */
struct story {
    const char *texts[TEXTS];
    int next;
    int events;
    char *read[TEXTS]; /* owned */
    uint32_t flags[TEXTS];
    uint64_t numbers[TEXTS];
};

static int tell(void *context, struct optrail_event *events, size_t capacity)
{
    struct story *story = context;

    assert_true(capacity > 0);
    if (story->next == TEXTS)
        return 0;
    events[0] = (struct optrail_event){.time_ns = 1000000000u + (uint64_t)story->next,
                                       .point = POINT_stack_define,
                                       .key = (uint64_t)story->next,
                                       .pid = 1,
                                       .tid = 1,
                                       .arg0 = (uintptr_t)story->texts[story->next],
                                       .arg1 = 7};
    story->next++;
    return 1;
}

static int hear(void *context, const struct optrail_event *event)
{
    struct story *story = context;

    if (event->point != POINT_stack_define || event->key >= TEXTS)
        return 0; /* what follows a text that does not end may be anything */
    story->events++;
    story->numbers[event->key] = event->arg1;
    story->flags[event->key] = event->flags;
    free(story->read[event->key]);
    story->read[event->key] = strdup((const char *)(uintptr_t)event->arg0);
    assert_non_null(story->read[event->key]);
    return 0;
}

static char *repeat(char letter, size_t count)
{
    char *text = malloc(count + 1);

    assert_non_null(text);
    memset(text, letter, count);
    text[count] = '\0';
    return text;
}

/* A trace below a new directory; the path is put into `path`. */
static void write_story(struct story *story, char path[64])
{
    struct event_feed feed = {.context = story, .next = tell};

    snprintf(path, 64, "/tmp/optrail-texts-XXXXXX");
    assert_non_null(mkdtemp(path));
    strncat(path, "/t", 3);
    assert_int_equal(write_trace(&feed, path), 0);
}

static void remove_story(struct story *story, char path[64])
{
    static const char *const names[] = {"/t/stream", "/t/metadata", "/t", ""};
    char file[128];

    path[strlen(path) - 2] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(file, sizeof(file), "%s%s", path, names[i]);
        assert_int_equal(remove(file), 0);
    }
    for (int i = 0; i < TEXTS; i++)
        free(story->read[i]);
}

static void texts_come_whole_or_are_cut(void **state)
{
    char *longest = repeat('x', EVENT_TEXT_MAX), *longer = repeat('y', LONGER_BYTES);
    /* a source cuts what is too long: `longer` arrives as the longest that there is */
    struct story story = {.texts = {"a;b;c", "", NULL, longest, longer}};
    struct event_consumer consumer = {.context = &story, .event = hear};
    struct read_counts counts;
    char path[64];
    const char *directory = path;

    (void)state;
    write_story(&story, path);
    assert_int_equal(reader_run_traces(&directory, 1, &consumer, NULL, &counts), 0);
    assert_int_equal(story.events, TEXTS);
    assert_string_equal(story.read[0], "a;b;c");
    assert_string_equal(story.read[1], "");
    assert_string_equal(story.read[2], "");
    assert_string_equal(story.read[3], longest);
    assert_memory_equal(story.read[4], longer, EVENT_TEXT_MAX);
    assert_int_equal(strlen(story.read[4]), EVENT_TEXT_MAX);
    for (int i = 0; i < TEXTS; i++) {
        assert_int_equal(story.flags[i], 0);
        assert_int_equal(story.numbers[i], 7);
    }
    remove_story(&story, path);
    free(longest);
    free(longer);
}

/* Puts `letter` over every NUL that ends one of the texts in the stream, from the `first` on. */
static void spoil_ends(const char *path, const char *text, int first, char letter)
{
    char file[128];
    struct stat status = {0};
    char *bytes, *at;
    int stream, seen = 0;

    snprintf(file, sizeof(file), "%s/stream", path);
    stream = open(file, O_RDWR | O_CLOEXEC);
    assert_true(stream >= 0 && fstat(stream, &status) == 0);
    bytes = malloc((size_t)status.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(stream, bytes, (size_t)status.st_size, 0), status.st_size);
    for (at = bytes;
         (at = memmem(at, (size_t)(bytes + status.st_size - at), text, strlen(text) + 1)) != NULL;
         at += strlen(text)) {
        if (seen++ >= first)
            at[strlen(text)] = letter;
    }
    assert_true(seen > first);
    assert_int_equal(pwrite(stream, bytes, (size_t)status.st_size, 0), status.st_size);
    close(stream);
    free(bytes);
}

/* A text that does not end runs into the events behind it and is read as whatever stands there:
 * wrong, but bounded, and no more than the stream holds. */
static void texts_that_do_not_end_are_bounded(void **state)
{
    char *long_one = repeat('e', EVENT_TEXT_MAX);
    struct story story = {.texts = {"first text", "text e", long_one, long_one, long_one}};
    struct event_consumer consumer = {.context = &story, .event = hear};
    struct read_counts counts;
    char path[64];
    const char *directory = path;

    (void)state;
    write_story(&story, path);
    spoil_ends(path, long_one, 0, 'e');
    (void)reader_run_traces(&directory, 1, &consumer, NULL, &counts);
    assert_true(story.events >= 3);
    assert_string_equal(story.read[0], "first text");
    assert_string_equal(story.read[1], "text e");
    /* it goes on into the next event's fields, so it is too long by now, and cut */
    assert_string_equal(story.read[2], long_one);
    assert_int_equal(story.flags[2], EVENT_FLAG_CUT);
    remove_story(&story, path);
    free(long_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_whole_or_are_cut),
        cmocka_unit_test(texts_that_do_not_end_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
