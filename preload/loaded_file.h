/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LOADED_FILE_H
#define OPTRAIL_LOADED_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The file that code of this process was loaded from. Found by _dl_find_object: no lock is taken
 * and no memory allocated. The file must stay loaded: it does while a call into it is under way.
 */
struct loaded_file {
    const char *name;   /* without directories; "?": none. Weak, as long as it is loaded */
    const char *path;   /* as the loader has it; "": not known. Weak, likewise */
    uintptr_t bias;     /* what was added to the file's addresses */
    const void *header; /* where its first bytes lie; NULL: no file is known */
};

/* The file that an address of code lies in. */
void loaded_file_find(uintptr_t address, struct loaded_file *file)
    __attribute__((visibility("hidden")));

/* "BUILD_ID PATH", the build-id in hexadecimal digits, as module.define has it. Returns its length;
 * 0: the file has no build-id, or no absolute path, or there is no room. */
size_t loaded_file_describe(const struct loaded_file *file, char *text, size_t size)
    __attribute__((visibility("hidden")));

/* Finds out where the program itself lies. Once, before the others. */
void loaded_file_prepare(void) __attribute__((visibility("hidden")));

#endif
