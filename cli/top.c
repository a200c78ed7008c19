/* SPDX-License-Identifier: MIT */
#include "top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_ns.h"
#include "err.h"
#include "interrupt.h"
#include "render.h"
#include "screen.h"
#include "terminal.h"

/* How long a message stays in the last line. */
#define MESSAGE_NS 4000000000ull
/* Keys are looked for at most this often when events come fast. */
#define LOOK_EVERY_NS 20000000ull

struct top {
    struct top_options options;
    struct event_feed feed, *inner; /* inner is weak */
    bool terminal;                  /* else plain lines */
    uint64_t begin_ns, interval_begin_ns, next_ns, looked_ns;
    struct report *whole, *interval; /* what is shown; owned */
    struct screen_history *history;
    struct screen_view view;
    char type[128]; /* view.type points here once a type was chosen */
    char message[256];
    uint64_t message_until_ns;
};

static void tell(struct top *top, const char *message)
{
    snprintf(top->message, sizeof(top->message), "%s", message);
    top->view.message = top->message;
    top->message_until_ns = monotonic_ns() + MESSAGE_NS;
}

/* Takes both snapshots. While paused they feed the trends and nothing else. */
static int look(struct top *top, uint64_t now)
{
    struct report *whole = NULL, *interval = NULL;
    int result = top->options.snapshot(top->options.context, ANALYSIS_WHOLE,
                                       (double)(now - top->begin_ns) / 1e9, &whole);

    if (result == 0)
        result = top->options.snapshot(top->options.context, ANALYSIS_INTERVAL,
                                       (double)(now - top->interval_begin_ns) / 1e9, &interval);
    if (result == 0)
        result = screen_history_add(top->history, interval);
    top->interval_begin_ns = now;
    if (result < 0 || (top->view.paused && top->whole)) {
        report_free(whole);
        report_free(interval);
        return result;
    }
    report_free(top->whole);
    report_free(top->interval);
    top->whole = whole;
    top->interval = interval;
    return 0;
}

static struct screen screen_of(const struct top *top)
{
    return (struct screen){top->whole, top->interval, top->history, top->view};
}

static int draw_page(struct top *top)
{
    size_t size = 0;
    char *page = NULL;
    FILE *out = open_memstream(&page, &size);

    if (!out)
        return err_no_memory();
    terminal_size(&top->view.columns, &top->view.lines);
    struct screen screen = screen_of(top);
    screen_render(&screen, out);
    if (fclose(out) == EOF) {
        free(page);
        return err_no_memory();
    }
    terminal_show(page);
    free(page);
    return 0;
}

static int print_lines(const struct top *top)
{
    char clock[16] = "";
    time_t now = time(NULL);
    struct tm parts;
    struct screen screen = screen_of(top);

    if (localtime_r(&now, &parts))
        strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
    errno = 0;
    screen_plain(&screen, clock, stdout);
    if (fflush(stdout) == EOF || ferror(stdout))
        return err_set(errno ? errno : EIO, "standard output cannot be written: %s",
                       strerror(errno ? errno : EIO));
    return 0;
}

/* Another op type, `step` places further on. */
static void choose_type(struct top *top, size_t step)
{
    struct screen screen = screen_of(top);

    if (top->whole->op_count == 0)
        return;
    size_t chosen = (screen_chosen_type(&screen) + step) % top->whole->op_count;
    snprintf(top->type, sizeof(top->type), "%s", top->whole->ops[chosen].type);
    top->view.type = top->type;
}

static void next_type(struct top *top)
{
    choose_type(top, 1);
}

static void previous_type(struct top *top)
{
    choose_type(top, top->whole->op_count ? top->whole->op_count - 1 : 0);
}

static void next_sort(struct top *top)
{
    top->view.sort = (top->view.sort + 1) % SCREEN_SORT_COUNT;
}

static void pause_or_go_on(struct top *top)
{
    top->view.paused = !top->view.paused;
}

static void whole_or_interval(struct top *top)
{
    top->view.whole_run = !top->view.whole_run;
}

static void help_or_not(struct top *top)
{
    top->view.help = !top->view.help;
}

static void quit(struct top *top)
{
    (void)top;
    interrupt_request();
}

/* Writes into a new file: one that is there, or a link that somebody planted, is left alone. */
static int write_file(const struct report *report, const char *format, const char *name)
{
    const struct render_options options = {0};
    FILE *out = fopen(name, "wxe");
    int result;

    if (!out)
        return err_set(errno, "%s: cannot be written: %s", name, strerror(errno));
    result = err_prefix(renderer_by_name(format)->render(report, &options, out), "%s", name);
    if (fclose(out) == EOF && result == 0)
        result = err_set(errno, "%s: cannot be written: %s", name, strerror(errno));
    return result;
}

static void write_report(struct top *top)
{
    char stamp[32] = "", text[64], json[64], message[256];
    time_t now = time(NULL);
    struct tm parts;
    struct report *report = NULL;

    if (localtime_r(&now, &parts))
        strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &parts);
    snprintf(text, sizeof(text), "optrail-%s.txt", stamp);
    snprintf(json, sizeof(json), "optrail-%s.json", stamp);
    int result = top->options.snapshot(top->options.context, ANALYSIS_WHOLE,
                                       (double)(monotonic_ns() - top->begin_ns) / 1e9, &report);
    if (result == 0)
        result = write_file(report, "text", text);
    if (result == 0)
        result = write_file(report, "json", json);
    report_free(report);
    if (result == 0)
        snprintf(message, sizeof(message), "written: %s, %s", text, json);
    tell(top, result == 0 ? message : err_message());
}

static const struct {
    int key;
    void (*act)(struct top *top);
} keys[] = {
    {'\t', next_type},
    {TERMINAL_RIGHT, next_type},
    {TERMINAL_LEFT, previous_type},
    {TERMINAL_BACK_TAB, previous_type},
    {'s', next_sort},
    {'a', whole_or_interval},
    {'p', pause_or_go_on},
    {' ', pause_or_go_on},
    {'w', write_report},
    {'q', quit},
    {'?', help_or_not},
    {'h', help_or_not},
};

/* Whether a key did something. */
static bool act_on_keys(struct top *top)
{
    bool acted = false;

    for (int key; (key = terminal_key()) != TERMINAL_NO_KEY;) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (keys[i].key != key)
                continue;
            keys[i].act(top);
            acted = true;
        }
    }
    return acted;
}

int top_open(const struct top_options *options, struct top **result)
{
    struct top *top = calloc(1, sizeof(*top));
    int error;

    if (!top)
        return err_no_memory();
    top->options = *options;
    top->terminal = terminal_there();
    top->view.utf8 = terminal_utf8();
    top->view.color = top->terminal && terminal_colors();
    top->view.interval_seconds = options->interval_seconds;
    top->begin_ns = top->interval_begin_ns = monotonic_ns();
    top->next_ns = top->begin_ns + (uint64_t)(options->interval_seconds * 1e9);
    error = screen_history_new(&top->history);
    if (!error && top->terminal)
        error = terminal_open();
    if (!error && top->terminal)
        error = look(top, monotonic_ns());
    if (!error && top->terminal)
        error = draw_page(top);
    if (error) {
        top_close(top);
        return error;
    }
    *result = top;
    return 0;
}

void top_close(struct top *top)
{
    if (!top)
        return;
    if (top->terminal)
        terminal_close();
    report_free(top->whole);
    report_free(top->interval);
    screen_history_free(top->history);
    free(top);
}

int top_tick(struct top *top)
{
    uint64_t now = monotonic_ns();
    bool changed = false;

    if (now >= top->next_ns) {
        uint64_t interval = (uint64_t)(top->options.interval_seconds * 1e9);
        int result = look(top, now);
        if (result < 0)
            return result;
        /* in step with the clock; after a stop there is nothing to catch up with */
        top->next_ns += (now - top->next_ns) / interval * interval + interval;
        changed = true;
    }
    if (!top->terminal)
        return changed ? print_lines(top) : 0;
    if (!changed && now - top->looked_ns < LOOK_EVERY_NS)
        return 0;
    top->looked_ns = now;
    if (top->view.message && now >= top->message_until_ns) {
        top->view.message = NULL;
        changed = true;
    }
    if (act_on_keys(top))
        changed = true;
    if (terminal_stale())
        changed = true;
    return changed ? draw_page(top) : 0;
}

static int feed_next(void *context, struct optrail_event *events, size_t capacity)
{
    struct top *top = context;
    int got = top->inner->next(top->inner->context, events, capacity);
    int result = top_tick(top);

    return result < 0 ? result : got;
}

static uint64_t feed_lost(void *context, uint64_t *begin_ns, uint64_t *end_ns)
{
    struct top *top = context;

    return top->inner->lost ? top->inner->lost(top->inner->context, begin_ns, end_ns) : 0;
}

struct event_feed *top_feed(struct top *top, struct event_feed *inner)
{
    top->inner = inner;
    top->feed = *inner;
    top->feed.context = top;
    top->feed.next = feed_next;
    top->feed.lost = feed_lost;
    return &top->feed;
}
