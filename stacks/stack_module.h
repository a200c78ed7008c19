/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_STACK_MODULE_H
#define OPTRAIL_STACK_MODULE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "elf_image.h"
#include "symbol_table.h"
#include "unwind_row.h"

/*
 * A file of which code is mapped: its unwind rows and its names. Shared by all unwinders of this
 * process; one of the same file (device, inode, time of change, size) is made once.
 */
struct stack_module {
    /* what tells it apart; all 0 for one from memory */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;

    unsigned references; /* under the list's lock */
    struct stack_module *next;

    char *name;             /* owned; without directories */
    bool bad;               /* no ELF file of this machine's, or damaged: no rows, no names */
    uint8_t *memory;        /* owned; what `image` reads, for one from memory */
    struct elf_image image; /* open, for the names, which are read when they are first asked for */
    struct build_id build_id;
    uint64_t low, high; /* the addresses that it spans, as the file says */

    struct unwind_rows rows;
    /* .eh_frame, and the search table of .eh_frame_hdr: what libunwind reads; owned */
    uint8_t *eh_frame, *eh_frame_header;
    uint64_t eh_frame_address, eh_frame_size;
    uint64_t header_address, header_size;
    uint32_t header_entries; /* 0: there is no table */

    pthread_mutex_t names_lock;
    bool names_read;
    bool names_whole;          /* with those of a debug file, or of .symtab */
    struct symbol_table names; /* under names_lock */
};

/* The module of an open file, which becomes the module's. `name` is copied. A file that cannot be
 * used gives a module that is `bad`. NULL for want of memory, with the message. Any thread. */
struct stack_module *stack_module_of_file(int fd, const char *name);

/* The same of an ELF image in memory, which becomes the module's; not shared. */
struct stack_module *stack_module_of_memory(uint8_t *bytes, size_t size, const char *name);

/* One reference more, for _release. */
struct stack_module *stack_module_hold(struct stack_module *module);

/* Gives it back; NULL is fine. */
void stack_module_release(struct stack_module *module);

/* Copies the 8 bytes at an address (as the file says) from the parts that unwinding needs; bytes
 * that are not there are 0. */
uint64_t stack_module_word(const struct stack_module *module, uint64_t address);

#endif
