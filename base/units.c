/* SPDX-License-Identifier: MIT */
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *unit_count(uint64_t count, char *out, size_t size)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count), used = 0;

    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* `value` (not negative) with three significant digits; the decimals are chosen after rounding. */
static void three_digits(double value, char *out, size_t size)
{
    if (value < 9.995)
        snprintf(out, size, "%.2f", value);
    else if (value < 99.95)
        snprintf(out, size, "%.1f", value);
    else
        unit_count((uint64_t)(value + 0.5), out, size);
}

char *unit_duration(uint64_t ns, char *out, size_t size)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t unit = 0;

    if (ns < 1000) {
        snprintf(out, size, "%" PRIu64 " ns", ns);
        return out;
    }
    while (unit < 2 && (double)ns / units[unit].ns >= 999.5)
        unit++;
    three_digits((double)ns / units[unit].ns, out, size);
    size_t used = strlen(out);
    snprintf(out + used, size - used, " %s", units[unit].name);
    return out;
}

char *unit_size(uint64_t bytes, char *out, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (unit < 6 && value >= (unit ? 1023.95 : 1024)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
    return out;
}

char *unit_rate(double value, char *out, size_t size)
{
    three_digits(value < 0 ? 0 : value, out, size);
    return out;
}
