/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOCK_RULES_H
#define OPTRAIL_LOCK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of lock_names.def. */
struct lock_rule {
    const char *name;   /* "filestore.index" */
    const char *frames; /* what its waiters' stacks look like */
    const char *member; /* type and member, for people */
};

/* The rule that the wait of this kind, with this stack (as in stack.define), meets; NULL: none. */
const struct lock_rule *lock_rules_find(uint16_t kind, const char *frames);

/* What a lock of this name is, for people; NULL: no rule has the name. */
const char *lock_rules_member(const char *name);

/* The innermost frame that is not part of a lock's own code, in libc, libstdc++ or the like: where
 * the program asks for it. `kind`: goes before it ("mutex in OSD::tick()"). False: no such frame.
 */
bool lock_site_name(uint16_t kind, const char *frames, char *name, size_t size);

/* A kind of wait as it stands in a name. Static. */
const char *lock_kind_words(uint16_t kind);

#endif
