/* SPDX-License-Identifier: MIT */
#include "perf_lines.h"

#include <ctype.h>
#include <string.h>

/* A word of a line. */
struct word {
    const char *text;
    size_t length;
};

enum { HEADER_WORDS = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_number(struct word word)
{
    for (size_t i = 0; i < word.length; i++)
        if (!is_digit(word.text[i]))
            return false;
    return word.length > 0;
}

/* "123", "123/124"; the idle thread's is "0"; "-1" where the thread had ended */
static bool is_thread(struct word word)
{
    size_t slashes = 0;
    for (size_t i = 0; i < word.length; i++) {
        slashes += word.text[i] == '/';
        if (!is_digit(word.text[i]) && word.text[i] != '/' && word.text[i] != '-')
            return false;
    }
    return slashes <= 1 && word.length > 0 && word.text[0] != '/' &&
           is_digit(word.text[word.length - 1]);
}

static bool is_cpu(struct word word)
{
    if (word.length < 3 || word.text[0] != '[' || word.text[word.length - 1] != ']')
        return false;
    return is_number((struct word){word.text + 1, word.length - 2});
}

/* "12345.678901:" */
static bool is_time(struct word word, uint64_t *ns)
{
    if (word.length < 3 || word.text[word.length - 1] != ':')
        return false;
    const char *dot = memchr(word.text, '.', word.length);
    if (!dot || !is_number((struct word){word.text, (size_t)(dot - word.text)}))
        return false;
    struct word fraction = {dot + 1, word.length - (size_t)(dot + 1 - word.text) - 1};
    if (!is_number(fraction) || fraction.length > 9)
        return false;
    uint64_t seconds = 0, part = 0;
    for (const char *at = word.text; at < dot; at++)
        if (__builtin_mul_overflow(seconds, 10, &seconds) ||
            __builtin_add_overflow(seconds, (uint64_t)(*at - '0'), &seconds))
            return false;
    for (size_t i = 0; i < 9; i++)
        part = part * 10 + (i < fraction.length ? (uint64_t)(fraction.text[i] - '0') : 0);
    return !__builtin_mul_overflow(seconds, 1000000000u, &seconds) &&
           !__builtin_add_overflow(seconds, part, ns);
}

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static size_t split(const char *text, size_t length, struct word *words)
{
    size_t count = 0, at = 0;
    while (count < HEADER_WORDS) {
        while (at < length && is_space(text[at]))
            at++;
        if (at == length)
            break;
        size_t begin = at;
        while (at < length && !is_space(text[at]))
            at++;
        words[count++] = (struct word){text + begin, at - begin};
    }
    return count;
}

/* An event's name ends with ':' and is no time. */
static bool is_event(struct word word)
{
    return word.length > 1 && word.text[word.length - 1] == ':' && !is_digit(word.text[0]);
}

static void set_event(struct perf_header *header, struct word word)
{
    size_t length = word.length - 1;
    length = length < sizeof(header->event) ? length : sizeof(header->event) - 1;
    memcpy(header->event, word.text, length);
    header->event[length] = '\0';
}

static uint64_t number_of(struct word word)
{
    uint64_t number = 0;
    for (size_t i = 0; i < word.length; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(word.text[i] - '0'), &number))
            return 0;
    return number;
}

/* Reads the words from `at` on that come behind the thread: CPU, time, period, event. Returns where
 * they end. */
static size_t take_fields(struct perf_header *header, const struct word *words, size_t count,
                          size_t at)
{
    if (at < count && is_cpu(words[at]))
        at++;
    if (at < count && is_time(words[at], &header->time_ns))
        at++;
    if (at + 1 < count && is_number(words[at]) && is_event(words[at + 1]))
        header->period = number_of(words[at++]);
    if (at < count && is_event(words[at]))
        set_event(header, words[at++]);
    return at;
}

/* "ffffffff821f94c3": too long for anything else */
static bool is_address(struct word word)
{
    for (size_t i = 0; i < word.length; i++)
        if (!is_hex(word.text[i]))
            return false;
    return word.length >= 8 && word.length <= 16;
}

/* Which word tells the thread, by those that follow it; -1: none. The comm is before it, and may
 * have numbers in it. */
static int find_thread(const struct word *words, size_t count)
{
    uint64_t ns;
    size_t event = count;
    for (size_t i = 0; i < count; i++) {
        bool follows = is_cpu(words[i]) || is_time(words[i], &ns) || is_address(words[i]);
        if (i > 0 && follows && is_thread(words[i - 1]))
            return (int)i - 1;
        if (event == count && i > 0 && is_event(words[i]) && is_thread(words[i - 1]))
            event = i;
    }
    if (event < count) {
        bool period = event > 1 && is_number(words[event - 1]) && is_thread(words[event - 2]);
        return (int)event - (period ? 2 : 1);
    }
    return is_thread(words[count - 1]) ? (int)count - 1 : -1;
}

bool perf_header_parse(const char *text, size_t length, bool strict, struct perf_header *header)
{
    struct word words[HEADER_WORDS];
    size_t count = split(text, length, words);
    header->comm = "";
    header->comm_length = 0;
    header->time_ns = 0;
    header->period = 0;
    header->event[0] = '\0';
    header->rest = "";
    header->rest_length = 0;
    if (count == 0)
        return false;
    int thread = find_thread(words, count);
    size_t at = take_fields(header, words, count, thread < 0 ? 0 : (size_t)thread + 1);
    bool one_line = at < count && is_address(words[at]);
    if (strict && (thread < 0 || (at == (size_t)thread + 1 && !one_line)))
        return false;
    if (thread < 0 && at == 0) /* nothing but a name */
        at = count;
    size_t names = thread < 0 ? (*header->event || header->time_ns ? 0 : count) : (size_t)thread;
    if (names > 0) {
        header->comm = words[0].text;
        header->comm_length =
            (size_t)(words[names - 1].text + words[names - 1].length - words[0].text);
    }
    if (at < count) {
        header->rest = words[at].text;
        header->rest_length = (size_t)(text + length - words[at].text);
    }
    return true;
}

/* Where the module in parentheses at the end begins; `length` when there is none. Its own
 * parentheses, as in "(/lib/libx.so (deleted))", are pairs. */
static size_t module_begin(const char *text, size_t length)
{
    int depth = 0;
    if (length == 0 || text[length - 1] != ')')
        return length;
    for (size_t i = length; i-- > 0;) {
        depth += text[i] == ')' ? 1 : text[i] == '(' ? -1 : 0;
        if (depth == 0)
            return i == 0 || text[i - 1] == ' ' ? i : length;
    }
    return length;
}

/* The length of the address that the frame begins with; 0: there is none. A word like "fade" is one
 * only where perf puts it: the last digit in the 16th column behind a tab. `column`: of the text.
 */
static size_t address_length(const char *text, size_t length, size_t column)
{
    size_t at = 0;
    bool digit = false;
    while (at < length && is_hex(text[at])) {
        digit = digit || is_digit(text[at]);
        at++;
    }
    if (at == 0 || (at < length && text[at] != ' ') || (!digit && at < 8 && column + at != 16))
        return 0;
    return at;
}

void perf_frame_split(const char **text, size_t *length, bool *has_address)
{
    const char *at = *text, *end = *text + *length;
    size_t column = 0;
    while (end > at && is_space(end[-1]))
        end--;
    for (; at < end && is_space(*at); at++)
        column = *at == '\t' ? 0 : column + 1;
    size_t address = address_length(at, (size_t)(end - at), column);
    *has_address = address > 0;
    at += address;
    while (at < end && *at == ' ')
        at++;
    *text = at;
    *length = (size_t)(end - at);
}

bool perf_frame_parse(const char *text, size_t length, struct perf_frame *frame)
{
    bool has_address;
    perf_frame_split(&text, &length, &has_address);
    return perf_frame_rest(text, length, has_address, frame);
}

bool perf_frame_rest(const char *text, size_t length, bool has_address, struct perf_frame *frame)
{
    frame->has_address = has_address;
    size_t module = module_begin(text, length), end = module;
    frame->has_module = module < length;
    while (end > 0 && text[end - 1] == ' ')
        end--;
    for (size_t i = end; i-- > 2;) /* the offset: +0x1f */
        if (!is_hex(text[i])) {
            if (text[i] == 'x' && text[i - 1] == '0' && text[i - 2] == '+')
                end = i - 2;
            break;
        }
    frame->name = text;
    frame->length = end;
    frame->of_module = false;
    bool unknown = end == 0 || (end == 9 && memcmp(text, "[unknown]", 9) == 0);
    if (unknown) {
        frame->name = "[unknown]";
        frame->length = 9;
        frame->of_module = length - module > 2 && !begins(text + module, length - module, "([unk");
    }
    if (frame->of_module) {
        frame->name = text + module + 1;
        frame->length = length - module - 2;
    }
    frame->clean = !frame->of_module;
    for (size_t i = 0; frame->clean && i < frame->length; i++)
        frame->clean = frame->name[i] != '(' && frame->name[i] != ';';
    return frame->has_address || end > 0;
}

size_t perf_module_tidy(const char *module, size_t length, char clean[PERF_NAME_MAX])
{
    size_t begin = 0, used = 0;
    if (length > 2 && module[0] == '[') { /* "[kernel.kallsyms]" */
        module++;
        length -= module[length - 2] == ']' ? 2 : 1;
    }
    for (size_t i = 0; i < length && module[i] != ' '; i++)
        if (module[i] == '/')
            begin = i + 1;
    clean[used++] = '[';
    for (size_t i = begin; i < length && used + 2 < PERF_NAME_MAX; i++)
        clean[used++] = module[i] == ';' ? ':' : module[i];
    clean[used++] = ']';
    return used;
}

/* The length of an operator's name, as in "operator()", that begins here; 0: none does. */
static size_t operator_length(const char *name, size_t length, size_t at)
{
    if (!begins(name + at, length - at, "operator") ||
        (at > 0 && (isalnum((unsigned char)name[at - 1]) || name[at - 1] == '_')))
        return 0;
    size_t end = at + strlen("operator");
    if (begins(name + end, length - end, "()"))
        return strlen("operator()");
    while (end < length && strchr("<>=!+-*/%^&|~,[]", name[end]) && name[end])
        end++;
    return end - at;
}

/* Where the parenthesis that opens at `at` is closed: behind it. */
static size_t past_group(const char *name, size_t length, size_t at)
{
    int depth = 0;
    for (; at < length; at++) {
        depth += name[at] == '(' ? 1 : name[at] == ')' ? -1 : 0;
        if (depth == 0)
            return at + 1;
    }
    return length;
}

size_t perf_name_tidy(const char *name, size_t length, char clean[PERF_NAME_MAX])
{
    size_t used = 0;
    int angles = 0;
    for (size_t at = 0; at < length && used + 1 < PERF_NAME_MAX;) {
        size_t word = operator_length(name, length, at);
        for (; word > 0 && used + 1 < PERF_NAME_MAX; word--)
            clean[used++] = name[at++];
        if (at >= length || used + 1 >= PERF_NAME_MAX)
            break;
        angles += name[at] == '<' ? 1 : name[at] == '>' && angles > 0 ? -1 : 0;
        /* an argument list goes; "(anonymous namespace)" and Go's "main.(*T).M" stay */
        if (name[at] == '(' && angles == 0 && !begins(name + at, length - at, "(anonymous") &&
            !(used > 0 && clean[used - 1] == '.') && used > 0) {
            at = past_group(name, length, at);
            if (begins(name + at, length - at, " const"))
                at += strlen(" const");
            continue;
        }
        clean[used++] = name[at] == ';' ? ':' : name[at];
        at++;
    }
    return used;
}
