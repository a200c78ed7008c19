/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe_map.h"

struct register_name {
    const char *name;
    uint8_t reg;
    uint8_t width;
};

static const struct register_name register_names[] = {
    {"rdi", UPROBE_RDI, 8}, {"rsi", UPROBE_RSI, 8}, {"rdx", UPROBE_RDX, 8}, {"rcx", UPROBE_RCX, 8},
    {"r8", UPROBE_R8, 8},   {"r9", UPROBE_R9, 8},   {"rsp", UPROBE_RSP, 8}, {"edi", UPROBE_RDI, 4},
    {"esi", UPROBE_RSI, 4}, {"edx", UPROBE_RDX, 4}, {"ecx", UPROBE_RCX, 4}, {"r8d", UPROBE_R8, 4},
    {"r9d", UPROBE_R9, 4},
};

static void skip_blanks(const char **text)
{
    while (**text == ' ')
        (*text)++;
}

static int parse_register(const char **text, struct uprobe_fetch *fetch)
{
    size_t length = 0;
    while (isalnum((unsigned char)(*text)[length]))
        length++;
    for (size_t i = 0; i < sizeof(register_names) / sizeof(register_names[0]); i++) {
        const struct register_name *row = &register_names[i];
        if (strlen(row->name) == length && strncmp(*text, row->name, length) == 0) {
            fetch->reg = row->reg;
            fetch->width = row->width;
            *text += length;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_number(const char **text, long low, long high, int32_t *value)
{
    char *end;
    errno = 0;
    long number = strtol(*text, &end, 0);
    if (end == *text || errno || number < low || number > high)
        return -EINVAL;
    *value = (int32_t)number;
    *text = end;
    return 0;
}

/* A number, or the name of a field whose place the build-id tells. */
static int parse_offset(const char **text, int32_t *offset)
{
    if (!isalpha((unsigned char)**text))
        return parse_number(text, 0, 1 << 20, offset);
    size_t length = 0;
    while (isalnum((unsigned char)(*text)[length]) || strchr("._", (*text)[length] ?: ' '))
        length++;
    int field = probe_field_by_name(*text, length);
    if (field < 0)
        return -EINVAL;
    *text += length;
    *offset = PROBE_FIELD + field;
    return 0;
}

/* term := register | '*' term | '*' '(' term [ '+' number ] ')': innermost load first.
 * `depth`: how many loads are around it. */
static int parse_term(const char **text, int depth, struct uprobe_fetch *fetch)
{
    skip_blanks(text);
    if (**text != '*')
        return parse_register(text, fetch);
    if (depth == UPROBE_MAX_LOADS)
        return -EINVAL;
    (*text)++;
    skip_blanks(text);
    int32_t offset = 0;
    int error;
    if (**text == '(') {
        (*text)++;
        error = parse_term(text, depth + 1, fetch);
        if (error)
            return error;
        skip_blanks(text);
        if (**text == '+') {
            (*text)++;
            skip_blanks(text);
            error = parse_offset(text, &offset);
            if (error)
                return error;
            skip_blanks(text);
        }
        if (**text != ')')
            return -EINVAL;
        (*text)++;
    } else {
        error = parse_term(text, depth + 1, fetch);
        if (error)
            return error;
    }
    if (fetch->loads == UPROBE_MAX_LOADS || fetch->width != 8)
        return -EINVAL;
    fetch->offsets[fetch->loads++] = offset;
    return 0;
}

/* term [ '+' number ] */
static int parse_sum(const char **text, struct uprobe_fetch *fetch)
{
    int error = parse_term(text, 0, fetch);
    skip_blanks(text);
    if (error || **text != '+')
        return error;
    (*text)++;
    skip_blanks(text);
    if (fetch->loads == UPROBE_MAX_LOADS || fetch->width != 8)
        return -EINVAL;
    return parse_number(text, 1, 1 << 20, &fetch->offsets[fetch->loads]);
}

/* 'class' '(' term ')' */
static int parse_class(const char **text, struct uprobe_fetch *fetch)
{
    *text += strlen("class(");
    int error = parse_term(text, 0, fetch);
    skip_blanks(text);
    if (error || fetch->width != 8 || **text != ')')
        return -EINVAL;
    (*text)++;
    fetch->width = UPROBE_CLASS;
    return 0;
}

/* 'int' '(' load ')' */
static int parse_int(const char **text, struct uprobe_fetch *fetch)
{
    *text += strlen("int(");
    int error = parse_term(text, 0, fetch);
    skip_blanks(text);
    if (error || fetch->loads == 0 || **text != ')')
        return -EINVAL;
    (*text)++;
    fetch->width = 4;
    return 0;
}

int probe_expression(const char *text, struct uprobe_fetch *fetch, unsigned *registers)
{
    *fetch = (struct uprobe_fetch){.width = 8};
    skip_blanks(&text);
    int error;
    if (isdigit((unsigned char)*text)) {
        error = parse_number(&text, 0, INT32_MAX, &fetch->offsets[0]);
    } else if (strncmp(text, "class(", strlen("class(")) == 0) {
        error = parse_class(&text, fetch);
    } else if (strcmp(text, "remembered") == 0) {
        fetch->reg = UPROBE_REMEMBERED;
        return 0;
    } else {
        if (*text == '-') {
            fetch->negate = 1;
            text++;
        }
        error = strncmp(text, "int(", strlen("int(")) == 0 ? parse_int(&text, fetch)
                                                           : parse_sum(&text, fetch);
    }
    skip_blanks(&text);
    if (error || *text)
        return -EINVAL;
    /* the stack pointer itself is no argument */
    if (fetch->reg == UPROBE_RSP && fetch->loads == 0)
        return -EINVAL;
    if (fetch->reg != UPROBE_NONE)
        *registers |= 1u << fetch->reg;
    return 0;
}
