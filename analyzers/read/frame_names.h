/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_FRAME_NAMES_H
#define OPTRAIL_FRAME_NAMES_H

#include "event.h"
#include "reader.h"

/*
 * Names for the frames of call stacks that were told as module+0xoffset (stack.define), from the
 * files that the same process told of (module.define). A file that is not here, or is of another
 * build than was told, is not used: its frames stay as they are, and are counted.
 */
struct frame_names;

/* Owned by the caller. NULL with the message when memory is short. Counts go to `counts`, weak. */
struct frame_names *frame_names_new(struct read_frames *counts);
void frame_names_free(struct frame_names *names); /* NULL is fine */

/* Looks at an event before it is delivered. A stack.define gets a text with names, which lives
 * until the next call. -ENOMEM with the message. */
int frame_names_event(struct frame_names *names, struct optrail_event *event);

#endif
