/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PROFILE_ROWS_H
#define OPTRAIL_PROFILE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

/*
 * A saved profile as rows of text: a keyword, then words and numbers, one space between them.
 * docs/profile.md lists the rows. What the rows mean is the business of those who write and read
 * them; here is how they look, that the file is whole, and that nothing in it can do harm.
 *
 *   optrail-profile 1
 *   keyword word number number
 *   ...
 *   end 1234 0123456789abcdef        number of rows before it, FNV-1a of all bytes before it
 *
 * In a word, bytes up to the space, '%' and 0x7f are written as %XX; the empty word is a lone '%'.
 */
#define PROFILE_VERSION 1
/* The first word of a profile. */
#define PROFILE_MAGIC "optrail-profile"
/* No number is larger, so that thousands of profiles add up. */
#define PROFILE_MAX_NUMBER ((uint64_t)1 << 62)
/* No file is larger. */
#define PROFILE_MAX_BYTES ((uint64_t)256 << 20)

struct profile_writer;

/* Begins a profile in memory. Owned by the caller. -ENOMEM with the message. */
int profile_writer_new(struct profile_writer **writer);
void profile_writer_free(struct profile_writer *writer); /* NULL is fine */

/* A new row, and what stands in it. What fails for want of memory is told by
 * profile_writer_save(). A number above PROFILE_MAX_NUMBER is written as that. */
void profile_put_row(struct profile_writer *writer, const char *keyword);
void profile_put_number(struct profile_writer *writer, uint64_t number);
void profile_put_word(struct profile_writer *writer, const char *word);
/* Sum, least and greatest value, number of buckets that are not empty; of each its number and its
 * count. */
void profile_put_histogram(struct profile_writer *writer, const struct histogram *histogram);

/* Ends the profile and writes it in one piece: a file of that name is replaced when all is on disk,
 * or stays as it was. Negative errno with the message that names the file. */
int profile_writer_save(struct profile_writer *writer, const char *file);

struct profile_reader;

/* Whether the file is an ordinary one that begins like a profile. */
bool profile_is_one(const char *file);

/* Opens a profile and checks that it is whole. -EBADMSG with a message that names the file and
 * says what is wrong: no profile, cut off, damaged, of a newer version. Owned by the caller. */
int profile_reader_open(const char *file, struct profile_reader **reader);
/* The same of bytes in memory, which are copied. `sealed`: the end row must be right; false: rows
 * as they come, for tests of those who read them. */
int profile_reader_memory(const char *name, const char *bytes, size_t size, bool sealed,
                          struct profile_reader **reader);
void profile_reader_free(struct profile_reader *reader); /* NULL is fine */

uint32_t profile_version(const struct profile_reader *reader);
const char *profile_name(const struct profile_reader *reader); /* the file's, for messages; weak */

/*
 * Goes to the next row and returns true when its keyword is this one; else it stays where it is and
 * returns false, as it does after the last row and after a failure. Getters take one word after the
 * other; after the first failure they return 0 or "", and the failure is what
 * profile_reader_result() returns.
 */
bool profile_take_row(struct profile_reader *reader, const char *keyword);
uint64_t profile_number(struct profile_reader *reader, uint64_t maximum); /* 0 to maximum */
const char *profile_word(struct profile_reader *reader); /* weak, until the reader is freed */
/* Adds to the histogram what was put there. */
void profile_add_histogram(struct profile_reader *reader, struct histogram *histogram);
/* Sets a failure that names file and row, unless there is one already; returns it. */
int profile_wrong(struct profile_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* 0, or the failure. */
int profile_reader_result(const struct profile_reader *reader);
/* 0 when all rows were taken and nothing failed; else the failure: a row nobody knows. */
int profile_reader_end(struct profile_reader *reader);

#endif
