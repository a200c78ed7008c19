/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_LIBC_CODE_H
#define OPTRAIL_LIBC_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_image.h"
#include "unwind_row.h"

#include "lock_wait.h"

#include "lock_record.h"

/* The functions of an ELF file, which of libc's they are, and who calls whom. Addresses as the file
 * says. */
struct code_function {
    uint64_t begin, end;
    bool named;
    bool calls_kernel; /* makes a futex call itself, or is left by a jump to one that does */
    bool mixed;        /* belongs to functions of several classes: the return address decides */
    uint8_t class;     /* enum lock_site_class */
};

struct code_call {
    size_t from, to; /* functions */
    uint64_t behind; /* address behind the instruction: where a call returns to */
    bool jump;
};

struct libc_code {
    struct code_function *functions; /* owned; by address */
    size_t function_count;
    struct code_call *calls; /* owned; to functions of this file without a name */
    size_t call_count, call_capacity;
    uint64_t *futexes; /* owned; addresses behind system calls that are futex calls */
    size_t futex_count, futex_capacity;
    uint64_t low; /* the file's lowest address */
    struct unwind_rows rows;
};

/* Reads it all, and gives each function its class. -EINVAL: it is no ELF file of the kind, or
 * damaged; -ENOMEM; no message. Freed by libc_code_free, also then. */
int libc_code_read(const struct elf_image *image, struct libc_code *code);
void libc_code_free(struct libc_code *code);

/* The function around an address; SIZE_MAX: none. */
size_t libc_code_function(const struct libc_code *code, uint64_t address);

/* How far above the stack pointer the return address lies at this address; 0xffff: not known. */
uint16_t libc_code_frame(const struct libc_code *code, uint64_t address);

#endif
