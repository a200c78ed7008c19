/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_UNITS_H
#define OPTRAIL_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Numbers as people read them. Each writes into `out` (24 bytes are enough) and returns it. */

/* "850 ns", "21.0 µs", "4.10 ms", "1.23 s", "1,234 s": three significant digits. */
char *unit_duration(uint64_t ns, char *out, size_t size);
/* "512 B", "4.0 KiB", "1.5 MiB". */
char *unit_size(uint64_t bytes, char *out, size_t size);
/* "40,212". */
char *unit_count(uint64_t count, char *out, size_t size);
/* "4,021", or with decimals when small: "12.3", "0.45". */
char *unit_rate(double value, char *out, size_t size);

#endif
