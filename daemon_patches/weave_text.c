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

/* An object with the values that the arguments have here, the first aside, which is the name of the
 * point. A local class may not know the function's variables, and C++98 has no lambda. */
static void put_object(FILE *out, const struct weave_rule *rule, const char *call, unsigned number)
{
    const char *name = rule->name, *open = strchr(call, '(');
    const char *first = open ? argument_end(open + 1) : NULL;
    unsigned count = 0;
    fprintf(out, "struct optrail_at_exit_%s_%u { ", name, number);
    for (const char *at = first; at && *at == ','; at = argument_end(at + 1))
        fprintf(out, "uint64_t value_%u; ", count++);
    fprintf(out, "~optrail_at_exit_%s_%u() { %.*s", name, number,
            (int)((first ? first : call + strlen(call)) - call), call);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, ", value_%u", i);
    fprintf(out, "%s; } } optrail_exit_%s_%u", first ? ")" : "", name, number);
    unsigned i = 0;
    for (const char *at = first, *end; at && *at == ','; at = end) {
        at += 1 + strspn(at + 1, " \t");
        end = argument_end(at);
        fprintf(out, "%s(uint64_t)(%.*s)", i++ ? ", " : " = {", (int)(end - at), at);
    }
    fprintf(out, "%s; (void)optrail_exit_%s_%u;", count ? "}" : "", name, number);
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
