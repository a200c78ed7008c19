/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "err.h"

/* Alternate screen, no cursor, no wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

static struct {
    struct termios before, drawing;
    int keyboard;                /* -1: none */
    volatile sig_atomic_t taken; /* the terminal is ours now */
    volatile sig_atomic_t open;  /* and is to be taken again after a stop */
    volatile sig_atomic_t stale;
} terminal = {.keyboard = -1};

/* What ends the process, and what was to be done at that signal before. */
static struct {
    struct sigaction before;
    int number;
    volatile sig_atomic_t told;
} endings[] = {
    {.number = SIGINT},  {.number = SIGTERM}, {.number = SIGHUP},  {.number = SIGQUIT},
    {.number = SIGABRT}, {.number = SIGSEGV}, {.number = SIGBUS},  {.number = SIGILL},
    {.number = SIGFPE},  {.number = SIGPIPE}, {.number = SIGXCPU}, {.number = SIGALRM},
};
#define ENDINGS (sizeof(endings) / sizeof(endings[0]))

/* For a sequence that a signal handler may have to write: all of it or as much as goes. */
static void put(const char *text)
{
    size_t length = strlen(text), done = 0;

    while (done < length) {
        ssize_t written = write(STDOUT_FILENO, text + done, length - done);
        if (written < 0 && errno != EINTR)
            return;
        done += written > 0 ? (size_t)written : 0;
    }
}

/* Async-signal-safe, like the next one. */
static void take(void)
{
    if (terminal.taken)
        return;
    terminal.taken = 1;
    if (terminal.keyboard >= 0)
        tcsetattr(terminal.keyboard, TCSADRAIN, &terminal.drawing);
    put(ENTER);
}

static void give_back(void)
{
    if (!terminal.taken)
        return;
    put(LEAVE);
    if (terminal.keyboard >= 0)
        tcsetattr(terminal.keyboard, TCSADRAIN, &terminal.before);
    terminal.taken = 0;
}

/* A first signal is for who asked to be told of it; all else ends the process. */
static void on_ending(int number)
{
    int error = errno;

    for (size_t i = 0; i < ENDINGS; i++) {
        if (endings[i].number != number)
            continue;
        void (*handler)(int) = endings[i].before.sa_handler;
        bool simple = !(endings[i].before.sa_flags & SA_SIGINFO);
        bool told = endings[i].told;
        endings[i].told = 1;
        if (simple && !told && handler != SIG_DFL) {
            if (handler != SIG_IGN)
                handler(number);
            errno = error;
            return;
        }
        give_back();
        terminal.open = 0;
        struct sigaction next = endings[i].before;
        if (told)
            next = (struct sigaction){.sa_handler = SIG_DFL};
        sigaction(number, &next, NULL);
        raise(number); /* delivered when this handler returns */
    }
    errno = error;
}

static void on_stop(int number)
{
    int error = errno;
    struct sigaction ours, stop = {.sa_handler = SIG_DFL};
    sigset_t stops;

    give_back();
    sigaction(number, &stop, &ours);
    sigemptyset(&stops);
    sigaddset(&stops, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &stops, NULL); /* stops here; goes on with SIGCONT */
    sigaction(number, &ours, NULL);
    errno = error;
}

static void on_continue(int number)
{
    int error = errno;

    (void)number;
    if (terminal.open) {
        terminal.taken = 0; /* a shell has had it */
        take();
        terminal.stale = 1;
    }
    errno = error;
}

static void on_resize(int number)
{
    (void)number;
    terminal.stale = 1;
}

bool terminal_there(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}

bool terminal_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool utf8 = locale != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

    if (locale != (locale_t)0)
        freelocale(locale);
    return utf8;
}

bool terminal_colors(void)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");

    return !(none && *none) && kind && strncmp(kind, "vt", 2) != 0;
}

static void install(int number, void (*handler)(int), struct sigaction *before)
{
    struct sigaction action = {.sa_handler = handler};

    sigfillset(&action.sa_mask); /* one at a time */
    sigaction(number, &action, before);
}

static void install_handlers(void)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        sigaction(endings[i].number, NULL, &endings[i].before);
        /* what is ignored stays ignored */
        if ((endings[i].before.sa_flags & SA_SIGINFO) || endings[i].before.sa_handler != SIG_IGN)
            install(endings[i].number, on_ending, &endings[i].before);
    }
    install(SIGTSTP, on_stop, NULL);
    install(SIGCONT, on_continue, NULL);
    install(SIGWINCH, on_resize, NULL);
}

int terminal_open(void)
{
    if (terminal.open)
        return 0;
    terminal.keyboard =
        isatty(STDIN_FILENO) ? STDIN_FILENO : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (terminal.keyboard >= 0 && tcgetattr(terminal.keyboard, &terminal.before))
        return err_set(errno, "cannot read the terminal's settings: %s", strerror(errno));
    terminal.drawing = terminal.before;
    /* Ctrl-C and Ctrl-Z stay signals; Ctrl-S would stop the drawing and, with it, us */
    terminal.drawing.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    terminal.drawing.c_iflag &= ~(tcflag_t)IXON;
    terminal.drawing.c_cc[VMIN] = 0;
    terminal.drawing.c_cc[VTIME] = 0;
    install_handlers();
    if (atexit(terminal_close))
        return err_no_memory();
    terminal.open = 1;
    take();
    return 0;
}

void terminal_close(void)
{
    terminal.open = 0;
    give_back();
}

void terminal_size(size_t *columns, size_t *lines)
{
    struct winsize size = {0};

    *columns = 80;
    *lines = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        *columns = size.ws_col;
        *lines = size.ws_row;
    }
}

bool terminal_stale(void)
{
    bool stale = terminal.stale;

    terminal.stale = 0;
    return stale;
}

/* One byte from the keyboard; 0: none within `milliseconds`. */
static unsigned char next_byte(int milliseconds)
{
    struct pollfd keyboard = {.fd = terminal.keyboard, .events = POLLIN};
    unsigned char byte = 0;

    if (poll(&keyboard, 1, milliseconds) <= 0 || read(terminal.keyboard, &byte, 1) != 1)
        return 0;
    return byte;
}

int terminal_key(void)
{
    static const struct {
        char final;
        int key;
    } sequences[] = {{'C', TERMINAL_RIGHT}, {'D', TERMINAL_LEFT}, {'Z', TERMINAL_BACK_TAB}};
    unsigned char byte;

    if (terminal.keyboard < 0 || !terminal.taken)
        return TERMINAL_NO_KEY;
    byte = next_byte(0);
    if (byte != '\033')
        return byte < 128 ? byte : TERMINAL_OTHER_KEY;
    /* ESC [ parameters final: the whole of it comes at once */
    byte = next_byte(20);
    if (byte != '[' && byte != 'O')
        return TERMINAL_OTHER_KEY;
    while ((byte = next_byte(20)) != 0 && byte < '@')
        continue;
    for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
        if (byte == (unsigned char)sequences[i].final)
            return sequences[i].key;
    return TERMINAL_OTHER_KEY;
}

bool terminal_show(const char *page)
{
    struct pollfd screen = {.fd = STDOUT_FILENO, .events = POLLOUT};
    size_t size = 0;
    char *text = NULL;
    FILE *out;

    /* a terminal that is stuck must not keep us from emptying the ring of events */
    if (!terminal.taken || poll(&screen, 1, 0) <= 0 || !(screen.revents & POLLOUT))
        return false;
    out = open_memstream(&text, &size);
    if (!out)
        return false;
    fputs("\033[H", out);
    for (const char *line = page; *line;) {
        size_t length = strcspn(line, "\n");
        /* cleared before, not behind: there the cursor may stand on the last column */
        fprintf(out, "\033[2K%.*s", (int)length, line);
        line += length + (line[length] == '\n');
        /* no newline behind the last line: it would scroll */
        if (*line)
            fputs("\r\n", out);
    }
    fputs("\033[J", out);
    if (fclose(out) == 0)
        put(text);
    free(text);
    return true;
}
