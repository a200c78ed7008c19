/* SPDX-License-Identifier: MIT */
#include "weave_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The end of the argument that begins at `at`: its comma, or the parenthesis behind the last. */
static const char *argument_end(const char *at)
{
    int depth = 0;
    char quote = '\0';
    for (; *at; at++) {
        if (quote) {
            at += *at == '\\' && at[1];
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '(' || *at == '[') {
            depth++;
        } else if (depth == 0 && (*at == ',' || *at == ')')) {
            break;
        } else {
            depth -= *at == ')' || *at == ']';
        }
    }
    return at;
}

/* A probe, `if (condition) POINT_MACRO(point, arguments)`: the first argument is a name, no value.
 */
struct call {
    int condition_length; /* 0: no condition */
    const char *condition, *name, *first;
};

static struct call parse_call(const char *text)
{
    struct call call = {.name = text};
    const char *open = strncmp(text, "if", 2) == 0 ? text + 2 + strspn(text + 2, " ") : text;
    if (open > text && *open == '(') {
        const char *at = open + 1, *end;
        while (*(end = argument_end(at)) == ',')
            at = end + 1;
        if (*end == ')') {
            call.condition = open;
            call.condition_length = (int)(end + 1 - open);
            call.name = end + 1 + strspn(end + 1, " ");
        }
    }
    open = strchr(call.name, '(');
    call.first = open ? argument_end(open + 1) : call.name + strlen(call.name);
    return call;
}

/* Why the brackets and quotes do not pair, or NULL. *behind is what follows the first bracket and
 * its partner; "" when there is none. No backslash is in the text. */
static const char *pairs_wrong(const char *text, const char **behind)
{
    char closing[64], quote = '\0';
    size_t depth = 0;
    *behind = "";
    for (const char *at = text; *at; at++) {
        if (quote) {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '(' || *at == '[') {
            if (depth == sizeof(closing))
                return "brackets are nested too deeply";
            closing[depth++] = *at == '(' ? ')' : ']';
        } else if (*at == ')' || *at == ']') {
            if (depth == 0 || closing[--depth] != *at)
                return "a bracket is closed that was not opened";
            if (depth == 0 && !**behind)
                *behind = at + 1;
        }
    }
    return quote ? "a quote is left open" : depth ? "a bracket is left open" : NULL;
}

const char *weave_call_wrong(const char *text)
{
    const char *behind, *wrong = pairs_wrong(text, &behind);
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        length--;
    if (wrong)
        return wrong;
    bool condition = strncmp(text, "if", 2) == 0 && text[2 + strspn(text + 2, " ")] == '(';
    if (length == 0 || text[length - 1] != ')' || (condition && !behind[strspn(behind, " \t")]))
        return "it does not end with a call, NAME(...)";
    return NULL;
}

/* An object with the values that condition and arguments have here. A local class may not know the
 * function's variables, and C++98 has no lambda. */
static void put_object(FILE *out, const struct weave_rule *rule, const char *text, unsigned number)
{
    const char *name = rule->name, *before = " = {";
    struct call call = parse_call(text);
    unsigned count = 0;
    fprintf(out, "struct optrail_at_exit_%s_%u { ", name, number);
    if (call.condition)
        fprintf(out, "bool told; ");
    for (const char *at = call.first; *at == ','; at = argument_end(at + 1))
        fprintf(out, "uint64_t value_%u; ", count++);
    fprintf(out, "~optrail_at_exit_%s_%u() { %s%.*s", name, number,
            call.condition ? "if (told) " : "", (int)(call.first - call.name), call.name);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, ", value_%u", i);
    fprintf(out, "%s; } } optrail_exit_%s_%u", *call.first ? ")" : "", name, number);
    if (call.condition) {
        fprintf(out, "%s%.*s ? true : false", before, call.condition_length, call.condition);
        before = ", ";
    }
    for (const char *at = call.first, *end; *at == ','; at = end, before = ", ") {
        at += 1 + strspn(at + 1, " \t");
        end = argument_end(at);
        fprintf(out, "%s", before);
        if (call.condition) /* only then the arguments have values */
            fprintf(out, "%.*s ? ", call.condition_length, call.condition);
        fprintf(out, "(uint64_t)(%.*s)%s", (int)(end - at), at, call.condition ? " : 0" : "");
    }
    fprintf(out, "%s; (void)optrail_exit_%s_%u;", before[0] == ',' ? "}" : "", name, number);
}

/* The same with what the arguments are at the exit: C++11 has the lambda that this needs. */
static void put_late_object(FILE *out, const struct weave_rule *rule, const char *call)
{
    const char *name = rule->name;
    fprintf(out,
            "auto optrail_call_%s = [&]() { %s; }; struct optrail_at_exit_%s { "
            "decltype(optrail_call_%s) &call; ~optrail_at_exit_%s() { call(); } } "
            "optrail_exit_%s = {optrail_call_%s}; (void)optrail_exit_%s;",
            name, call, name, name, name, name, name, name);
}

char *weave_statement_text(const struct weave_rule *rule, enum weave_text text, unsigned number)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    const char *call = rule->texts[text];
    if (text == WEAVE_TEXT_LEAVE || rule->position == WEAVE_EXIT)
        put_object(out, rule, call, number);
    else if (rule->position == WEAVE_EXIT_LATE)
        put_late_object(out, rule, call);
    else
        fprintf(out, "%s;", call);
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        free(line);
        return NULL;
    }
    return line;
}
