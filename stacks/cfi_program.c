/* SPDX-License-Identifier: MIT */
#include "cfi_program.h"

#include <errno.h>
#include <string.h>

#include "byte_reader.h"
#include "unwind.h"

/* DWARF 5, table 7.29, and GNU's additions. */
enum {
    DW_CFA_advance_loc = 0x40,
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_GNU_negative_offset_extended = 0x2f,
};

/* DWARF 5, table 7.9. */
enum {
    DW_OP_deref = 0x06,
    DW_OP_and = 0x1a,
    DW_OP_plus = 0x22,
    DW_OP_shl = 0x24,
    DW_OP_ge = 0x2a,
    DW_OP_lit0 = 0x30,
    DW_OP_breg0 = 0x70,
};

/* Compilers remember one state at a time. */
enum { REMEMBERED_MAX = 16 };

struct cfi_run {
    const struct cfi_common *common;
    struct cfi_state *state;
    struct cfi_state remembered[REMEMBERED_MAX];
    size_t remembered_count;
    uint64_t address;
    bool bad;
};

static struct saved_register *saved(struct cfi_run *run, uint64_t number)
{
    if (number == STACK_RBP)
        return &run->state->rbp;
    return number == run->common->return_register ? &run->state->rip : NULL;
}

static void save(struct cfi_run *run, uint64_t number, enum saved_rule rule, int64_t offset)
{
    struct saved_register *place = saved(run, number);
    if (place)
        *place = (struct saved_register){.rule = rule, .offset = offset};
}

static void restore(struct cfi_run *run, uint64_t number)
{
    if (number == STACK_RBP)
        run->state->rbp = run->common->initial.rbp;
    else if (number == run->common->return_register)
        run->state->rip = run->common->initial.rip;
}

static int64_t scaled(const struct cfi_run *run, int64_t factor)
{
    int64_t product;
    return __builtin_mul_overflow(run->common->data_align, factor, &product) ? INT64_MIN : product;
}

static void save_expression(struct cfi_run *run, struct byte_reader *reader, bool is_address)
{
    struct saved_register *place = saved(run, read_uleb(reader));
    uint64_t size = read_uleb(reader);
    const uint8_t *expression = reader->at;
    skip_bytes(reader, size);
    if (place)
        *place = (struct saved_register){
            .rule = is_address ? SAVED_BY_EXPRESSION : SAVED_OTHERWISE,
            .expression = expression,
            .expression_size = size,
        };
}

static void define_cfa(struct cfi_run *run, uint64_t number, int64_t offset)
{
    run->state->cfa_register = number;
    run->state->cfa_offset = offset;
    run->state->cfa_expression = NULL;
}

static void define_cfa_by_expression(struct cfi_run *run, struct byte_reader *reader)
{
    run->state->cfa_expression_size = read_uleb(reader);
    run->state->cfa_expression = reader->at;
    skip_bytes(reader, run->state->cfa_expression_size);
}

static void remember(struct cfi_run *run)
{
    if (run->remembered_count == REMEMBERED_MAX)
        run->bad = true;
    else
        run->remembered[run->remembered_count++] = *run->state;
}

static void restore_remembered(struct cfi_run *run)
{
    if (run->remembered_count == 0)
        run->bad = true;
    else
        *run->state = run->remembered[--run->remembered_count];
}

/* Instructions that do not move on to another address. */
static void execute(struct cfi_run *run, uint8_t opcode, struct byte_reader *reader)
{
    uint64_t number;
    switch (opcode) {
    case DW_CFA_nop:
        break;
    case DW_CFA_offset_extended:
        number = read_uleb(reader);
        save(run, number, SAVED_AT_CFA, scaled(run, (int64_t)read_uleb(reader)));
        break;
    case DW_CFA_offset_extended_sf:
        number = read_uleb(reader);
        save(run, number, SAVED_AT_CFA, scaled(run, read_sleb(reader)));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        number = read_uleb(reader);
        save(run, number, SAVED_AT_CFA, scaled(run, (int64_t)-read_uleb(reader)));
        break;
    case DW_CFA_restore_extended:
        restore(run, read_uleb(reader));
        break;
    case DW_CFA_undefined:
        save(run, read_uleb(reader), SAVED_UNDEFINED, 0);
        break;
    case DW_CFA_same_value:
        save(run, read_uleb(reader), SAVED_SAME, 0);
        break;
    case DW_CFA_register:
    case DW_CFA_val_offset:
        number = read_uleb(reader);
        read_uleb(reader);
        save(run, number, SAVED_OTHERWISE, 0);
        break;
    case DW_CFA_val_offset_sf:
        number = read_uleb(reader);
        read_sleb(reader);
        save(run, number, SAVED_OTHERWISE, 0);
        break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        save_expression(run, reader, opcode == DW_CFA_expression);
        break;
    case DW_CFA_remember_state:
        remember(run);
        break;
    case DW_CFA_restore_state:
        restore_remembered(run);
        break;
    case DW_CFA_def_cfa:
        number = read_uleb(reader);
        define_cfa(run, number, (int64_t)read_uleb(reader));
        break;
    case DW_CFA_def_cfa_sf:
        number = read_uleb(reader);
        define_cfa(run, number, scaled(run, read_sleb(reader)));
        break;
    case DW_CFA_def_cfa_register:
        define_cfa(run, read_uleb(reader), run->state->cfa_offset);
        break;
    case DW_CFA_def_cfa_offset:
        define_cfa(run, run->state->cfa_register, (int64_t)read_uleb(reader));
        break;
    case DW_CFA_def_cfa_offset_sf:
        define_cfa(run, run->state->cfa_register, scaled(run, read_sleb(reader)));
        break;
    case DW_CFA_def_cfa_expression:
        define_cfa_by_expression(run, reader);
        break;
    case DW_CFA_GNU_args_size:
        read_uleb(reader);
        break;
    default:
        run->bad = true;
    }
}

/* Whether the instruction moves on, and by how much. */
static bool advances(struct cfi_run *run, uint8_t opcode, struct byte_reader *reader,
                     uint64_t *step)
{
    if ((opcode & 0xc0) == DW_CFA_advance_loc)
        *step = opcode & 0x3f;
    else if (opcode == DW_CFA_advance_loc1)
        *step = read_u8(reader);
    else if (opcode == DW_CFA_advance_loc2)
        *step = read_u16(reader);
    else if (opcode == DW_CFA_advance_loc4)
        *step = read_u32(reader);
    else
        return false;
    if (__builtin_mul_overflow(*step, run->common->code_align, step) || *step > UINT32_MAX)
        run->bad = true;
    return true;
}

int cfi_run(const struct cfi_common *common, const uint8_t *instructions, uint64_t size,
            uint64_t address, struct cfi_state *state, uint64_t *budget, cfi_state_function *call,
            void *context)
{
    struct byte_reader reader = byte_reader(instructions, size);
    struct cfi_run run = {.common = common, .state = state, .address = address};

    while (bytes_left(&reader) > 0) {
        uint8_t opcode = read_u8(&reader);
        uint64_t step;
        if (*budget == 0)
            return -EINVAL;
        --*budget;
        if (advances(&run, opcode, &reader, &step)) {
            int result = call && !run.bad && step ? call(context, run.address, state) : 0;
            if (result < 0)
                return result;
            run.address += step;
        } else if ((opcode & 0xc0) == DW_CFA_offset) {
            save(&run, opcode & 0x3f, SAVED_AT_CFA, scaled(&run, (int64_t)read_uleb(&reader)));
        } else if ((opcode & 0xc0) == DW_CFA_restore) {
            restore(&run, opcode & 0x3f);
        } else {
            execute(&run, opcode, &reader);
        }
        if (run.bad || reader.failed)
            return -EINVAL;
    }
    return call ? call(context, run.address, state) : 0;
}

/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: what linkers write for a .plt. */
static bool is_plt(const struct cfi_state *state, struct unwind_row *row)
{
    const uint8_t *op = state->cfa_expression;
    if (state->cfa_expression_size != 11 || op[0] != DW_OP_breg0 + STACK_RSP ||
        op[2] != DW_OP_breg0 + STACK_RIP || op[3] != 0 || op[4] != DW_OP_lit0 + 15 ||
        op[5] != DW_OP_and || op[6] < DW_OP_lit0 || op[6] > DW_OP_lit0 + 15 || op[7] != DW_OP_ge ||
        op[8] != DW_OP_lit0 + 3 || op[9] != DW_OP_shl || op[10] != DW_OP_plus || op[1] >= 0x40)
        return false;
    row->cfa = CFA_PLT;
    row->cfa_offset = op[1];
    row->rbp_offset = op[6] - DW_OP_lit0;
    return true;
}

/* An expression that is a register and an offset, and perhaps what is stored there. */
static bool is_based_on(const uint8_t *expression, uint64_t size, unsigned number, bool deref,
                        int64_t *offset)
{
    struct byte_reader reader = byte_reader(expression, size);
    if (read_u8(&reader) != DW_OP_breg0 + number)
        return false;
    *offset = read_sleb(&reader);
    if (deref && read_u8(&reader) != DW_OP_deref)
        return false;
    return !reader.failed && bytes_left(&reader) == 0;
}

/* Where the kernel puts the interrupted registers, from the stack pointer in the handler's
 * restorer on (struct ucontext, asm/sigcontext.h): what its users say in their .eh_frame. */
static bool is_signal_frame(const struct cfi_state *state)
{
    enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };
    int64_t rsp, rip, rbp;
    return state->cfa_expression &&
           is_based_on(state->cfa_expression, state->cfa_expression_size, STACK_RSP, true, &rsp) &&
           rsp == UCONTEXT_RSP && state->rip.rule == SAVED_BY_EXPRESSION &&
           is_based_on(state->rip.expression, state->rip.expression_size, STACK_RSP, false, &rip) &&
           rip == UCONTEXT_RIP && state->rbp.rule == SAVED_BY_EXPRESSION &&
           is_based_on(state->rbp.expression, state->rbp.expression_size, STACK_RSP, false, &rbp) &&
           rbp == UCONTEXT_RBP;
}

static bool set_cfa(const struct cfi_state *state, struct unwind_row *row)
{
    int64_t offset = state->cfa_offset;
    if (state->cfa_expression) {
        if (is_plt(state, row))
            return true;
        if (!is_based_on(state->cfa_expression, state->cfa_expression_size, STACK_RBP, true,
                         &offset))
            return false;
        row->cfa = CFA_AT_RBP;
    } else if (state->cfa_register == STACK_RSP) {
        row->cfa = CFA_RSP;
    } else if (state->cfa_register == STACK_RBP) {
        row->cfa = CFA_RBP;
    } else {
        return false;
    }
    row->cfa_offset = (int32_t)offset;
    return offset == row->cfa_offset;
}

static bool set_rbp(const struct cfi_state *state, struct unwind_row *row)
{
    int64_t offset = state->rbp.offset;
    switch (state->rbp.rule) {
    case SAVED_SAME:
    case SAVED_UNDEFINED:
        return true;
    case SAVED_AT_CFA:
        row->rbp = RBP_AT_CFA;
        break;
    case SAVED_BY_EXPRESSION:
        if (!is_based_on(state->rbp.expression, state->rbp.expression_size, STACK_RBP, false,
                         &offset))
            return false;
        row->rbp = RBP_AT_RBP;
        break;
    default:
        return false;
    }
    if (row->cfa == CFA_PLT)
        return false; /* which needs rbp_offset for itself, and saves nothing */
    row->rbp_offset = (int16_t)offset;
    return offset == row->rbp_offset;
}

struct unwind_row cfi_row(const struct cfi_common *common, const struct cfi_state *state)
{
    struct unwind_row row = {0};
    if (state->rip.rule == SAVED_UNDEFINED)
        return (struct unwind_row){.cfa = CFA_OUTERMOST};
    if (common->signal)
        return (struct unwind_row){.cfa = is_signal_frame(state) ? CFA_SIGNAL : CFA_SIGNAL_BEYOND};
    if (common->return_register != STACK_RIP || state->rip.rule != SAVED_AT_CFA ||
        state->rip.offset != -8 || !set_cfa(state, &row) || !set_rbp(state, &row))
        return (struct unwind_row){.cfa = CFA_BEYOND};
    return row;
}
