/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_SAMPLE_TEXTS_H
#define OPTRAIL_SAMPLE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Texts by number: one that is met again has the number that it had. Bounded in texts and in bytes;
 * texts stay where they are. Not thread-safe.
 */
struct sample_texts;

/* Owned by the caller. -ENOMEM with the message. */
int sample_texts_new(struct sample_texts **texts);
void sample_texts_free(struct sample_texts *texts); /* NULL is fine */

/* The number of the text, from 1 on; 0 when there is no room for a new one. */
uint32_t sample_texts_number(struct sample_texts *texts, const char *text, size_t length);

const char *sample_texts_text(const struct sample_texts *texts, uint32_t number); /* weak */

#endif
