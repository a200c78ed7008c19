/* SPDX-License-Identifier: MIT */
/* --fail-if: a condition on a change, for use in CI. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_private.h"
#include "err.h"

static int wrong(const char *text, const char *what)
{
    return err_set(EINVAL,
                   "--fail-if '%s': %s: TYPE.STATISTIC or TYPE.STAGE.STATISTIC (mean, p50, p90, "
                   "p99), > or <, and a change: 'write.p99 > +5%%', 'write.opqueue.wait.mean > "
                   "200us'",
                   text, what);
}

/* "write.journal.write.p99": what is before the first point, behind the last one, and between. */
static int parse_name(const char *text, const char *name, size_t length,
                      struct compare_condition *condition)
{
    const char *first = memchr(name, '.', length), *last = memrchr(name, '.', length);
    if (!first || first == name)
        return wrong(text, "no op type and statistic");
    size_t statistic_length = (size_t)(name + length - last - 1);
    int statistic = 0;
    while (statistic < DIFF_STATISTICS &&
           (strlen(diff_statistic_names[statistic]) != statistic_length ||
            strncmp(diff_statistic_names[statistic], last + 1, statistic_length) != 0))
        statistic++;
    if (statistic == DIFF_STATISTICS)
        return wrong(text, "no statistic that is known");
    size_t stage_length = last > first ? (size_t)(last - first - 1) : 0;
    if (first == name || (last > first && stage_length == 0))
        return wrong(text, "no name where a type or a stage should be");
    if ((size_t)(first - name) >= sizeof(condition->type) ||
        stage_length >= sizeof(condition->stage))
        return wrong(text, "a name that is too long");
    snprintf(condition->type, sizeof(condition->type), "%.*s", (int)(first - name), name);
    snprintf(condition->stage, sizeof(condition->stage), "%.*s", (int)stage_length,
             last > first ? first + 1 : "");
    condition->statistic = (enum diff_statistic)statistic;
    return 0;
}

const char *parse_amount(const char *text, double *amount, bool *percent)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"%", 0.01}, {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    *amount = strtod(text, &end);
    if (end == text || !isfinite(*amount) || fabs(*amount) > 1e12)
        return "no number";
    end += strspn(end, " ");
    size_t length = strcspn(end, " ");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strlen(units[i].name) == length && strncmp(units[i].name, end, length) == 0 &&
            end[length + strspn(end + length, " ")] == '\0') {
            *percent = i == 0;
            *amount *= units[i].factor;
            return NULL;
        }
    return "no unit behind the number (%, ns, us, ms, s)";
}

int compare_condition_parse(const char *text, struct compare_condition *condition)
{
    *condition = (struct compare_condition){.text = text};
    const char *name = text + strspn(text, " "), *sign = strpbrk(name, "<>");
    if (!sign)
        return wrong(text, "no > or <");
    const char *end = sign;
    while (end > name && isspace((unsigned char)end[-1]))
        end--;
    condition->above = *sign == '>';
    int rc = parse_name(text, name, (size_t)(end - name), condition);
    if (rc < 0)
        return rc;
    const char *what = parse_amount(sign + 1, &condition->limit, &condition->percent);
    return what ? wrong(text, what) : 0;
}

static const struct diff_row *find_row(const struct compare_condition *condition,
                                       const struct report_diff *diff)
{
    for (size_t i = 0; i < diff->type_count; i++) {
        const struct diff_type *type = &diff->types[i];
        if (strcmp(type->type, condition->type) != 0)
            continue;
        for (size_t j = 0; j < type->row_count; j++)
            if (strcmp(type->rows[j].stage, condition->stage) == 0)
                return &type->rows[j];
    }
    return NULL;
}

int compare_condition_judge(const struct compare_condition *condition, struct report_diff *diff)
{
    char why[256];
    const struct diff_row *row = find_row(condition, diff);
    if (!row)
        return err_set(ENOENT, "--fail-if '%s': no side has such ops, or they pass no such stage",
                       condition->text);
    const struct diff_value *value = &row->values[condition->statistic];
    if (!value->tested)
        return err_set(ENODATA,
                       "--fail-if '%s': cannot be told: too few ops, or too short a time, on one "
                       "of the sides",
                       condition->text);
    double change = condition->percent ? (value->before > 0 ? value->change / value->before : 0)
                                       : value->change;
    bool beyond = condition->above ? change > condition->limit : change < condition->limit;
    double scale = value->before > 0 ? 100 / value->before : 0;
    snprintf(why, sizeof(why), "it changed by %+.2f %% (95 %%: %+.2f to %+.2f %%)%s",
             value->change * scale, value->low * scale, value->high * scale,
             beyond && !value->significant ? ", which may be chance" : "");
    return report_diff_add_condition(diff, condition->text, beyond && value->significant, why);
}
