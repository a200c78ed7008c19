/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_CFI_PROGRAM_H
#define OPTRAIL_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_row.h"

/* Where a register's old value is, as far as rows tell it apart. */
enum saved_rule {
    SAVED_SAME,
    SAVED_UNDEFINED,
    SAVED_AT_CFA,
    SAVED_BY_EXPRESSION,
    SAVED_OTHERWISE,
};

struct saved_register {
    enum saved_rule rule;
    int64_t offset;
    const uint8_t *expression; /* weak */
    uint64_t expression_size;
};

struct cfi_state {
    uint64_t cfa_register;
    int64_t cfa_offset;
    const uint8_t *cfa_expression; /* weak; NULL: register and offset */
    uint64_t cfa_expression_size;
    struct saved_register rbp, rip;
};

/* What a CIE says of all its functions. */
struct cfi_common {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t address_encoding;
    bool has_data;            /* its functions have augmentation data, to be skipped */
    bool signal;              /* they are the kernel's signal frames */
    struct cfi_state initial; /* after the CIE's own instructions */
};

/* Called with each state of a function: from `address` on. Negative: stop. */
typedef int cfi_state_function(void *context, uint64_t address, const struct cfi_state *state);

/* Runs call frame instructions (DWARF 5, 6.4.2), calling back at each change of the address and at
 * the end. `budget` is lowered by each instruction. -EINVAL: they are not valid, or cost too
 * much; `context`'s own error. `call` may be NULL. */
int cfi_run(const struct cfi_common *common, const uint8_t *instructions, uint64_t size,
            uint64_t address, struct cfi_state *state, uint64_t *budget, cfi_state_function *call,
            void *context);

/* The row of a state; `start` and the function's mark are the caller's. */
struct unwind_row cfi_row(const struct cfi_common *common, const struct cfi_state *state);

#endif
