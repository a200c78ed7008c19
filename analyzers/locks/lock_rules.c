/* SPDX-License-Identifier: MIT */
#include "lock_rules.h"

#include <stdio.h>
#include <string.h>

#include "wait_kinds.h"

#define INNER_FRAMES 8

enum rule_class { CLASS_ANY, CLASS_MUTEX, CLASS_RWLOCK, CLASS_CONDVAR };

static const struct row {
    struct lock_rule rule;
    enum rule_class class;
} rows[] = {
#define OPTRAIL_LOCK_NAME(name, class, frames, member) {{name, frames, member}, CLASS_##class},
#include "lock_names.def"
#undef OPTRAIL_LOCK_NAME
};
#define ROW_COUNT (sizeof(rows) / sizeof(*rows))

static enum rule_class class_of(uint16_t kind)
{
    switch (kind) {
    case WAIT_rwlock_read:
    case WAIT_rwlock_write:
        return CLASS_RWLOCK;
    case WAIT_condvar:
    case WAIT_condvar_idle:
        return CLASS_CONDVAR;
    case WAIT_mutex:
    case WAIT_mutex_shared:
    case WAIT_mutex_pi:
    case WAIT_mutex_timed:
        return CLASS_MUTEX;
    default:
        return CLASS_ANY;
    }
}

/* The end of the frame that begins at `frame`. */
static const char *frame_end(const char *frame)
{
    const char *end = strchr(frame, ';');
    return end ? end : frame + strlen(frame);
}

static bool frame_has(const char *frame, const char *part, size_t length)
{
    const char *end = frame_end(frame);
    for (const char *at = frame; at + length <= end; at++)
        if (memcmp(at, part, length) == 0)
            return true;
    return false;
}

/* The frame outside of this one; NULL: there is none. */
static const char *outer(const char *frame)
{
    const char *end = frame_end(frame);
    return *end && end[1] ? end + 1 : NULL;
}

/* Whether this frame has the pattern's first part, and the frames outside of it the others. */
static bool matches(const char *frame, const char *pattern)
{
    const char *part = pattern;
    for (bool first = true; frame; frame = outer(frame), first = false) {
        const char *border = strstr(part, " < ");
        size_t length = border ? (size_t)(border - part) : strlen(part);
        bool here = frame_has(frame, part, length);
        if (here && !border)
            return true;
        if (here)
            part = border + 3;
        else if (first)
            return false;
    }
    return false;
}

/* Frames that belong to the lock, not to the program that asks for it. */
static bool is_of_the_lock(const char *frame)
{
    static const char *const parts[] = {
        "lll_lock",   "pthread_",     "futex",         "libc.so",        "libpthread",
        "std::mutex", "std::unique_", "std::lock",     "std::share",     "std::condit",
        "__gthread",  "ceph::mutex",  "std::__shared", "take_when_free", "lock_take",
        "lock_wait",  "sem_wait",     "syscall",       "libstdc++",      "[vdso]"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (frame_has(frame, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* "librbd.so.1.16.0+0x62e2e0": a function of the program whose name is not known. */
static bool is_nameless(const char *frame)
{
    return frame_has(frame, "+0x", 3) && !is_of_the_lock(frame);
}

const struct lock_rule *lock_rules_find(uint16_t kind, const char *frames)
{
    if (!frames || kind == WAIT_allocator || kind == WAIT_libc)
        return NULL;
    enum rule_class class = class_of(kind);
    const char *frame = *frames ? frames : NULL;
    /* what a function without a name asks for, its callers do not tell */
    for (int inner = 0; frame && inner < INNER_FRAMES && !is_nameless(frame);
         inner++, frame = outer(frame))
        for (size_t i = 0; i < ROW_COUNT; i++)
            if ((rows[i].class == CLASS_ANY || rows[i].class == class) &&
                matches(frame, rows[i].rule.frames))
                return &rows[i].rule;
    return NULL;
}

const char *lock_rules_member(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].rule.name, name) == 0)
            return rows[i].rule.member;
    return NULL;
}

const char *lock_kind_words(uint16_t kind)
{
    if (kind == WAIT_condvar_internal)
        return "inside a condition variable";
    /* one lock, one name, whoever asks for it first and how */
    switch (class_of(kind)) {
    case CLASS_MUTEX:
        return "mutex";
    case CLASS_RWLOCK:
        return "rwlock";
    default:
        return wait_kind_rows[kind].name;
    }
}

bool lock_site_name(uint16_t kind, const char *frames, char *name, size_t size)
{
    for (const char *frame = frames; *frame;) {
        const char *end = frame_end(frame);
        if (end > frame && !is_of_the_lock(frame)) {
            snprintf(name, size, "%s in %.*s", lock_kind_words(kind), (int)(end - frame), frame);
            return true;
        }
        frame = *end ? end + 1 : end;
    }
    return false;
}
