/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FLAME_BYTES_H
#define OPTRAIL_FLAME_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of a file, and where it is gzipped (several members in a row also), those that it
 * holds: all that come before a damage. (What zlib's gzread() has inflated of a block is lost when
 * the block is damaged.)
 */
struct flame_bytes;

/* Takes the descriptor over, also when it fails. Owned by the caller. -ENOMEM with the message. */
int flame_bytes_open(int file, struct flame_bytes **bytes);
void flame_bytes_close(struct flame_bytes *bytes); /* NULL is fine */

/* Up to `size` bytes. Returns how many, 0 at the end; negative errno without a message when the
 * file cannot be read. */
long flame_bytes_read(struct flame_bytes *bytes, char *to, size_t size);

/* At the end: whether the compressed data are damaged or break off there. */
bool flame_bytes_cut(const struct flame_bytes *bytes);

#endif
