/* SPDX-License-Identifier: MIT */
#include "site.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>

#include "err.h"
#include "uprobe.h"

/* Nothing of use comes later than this: the arguments have long been moved. */
#define LOOK_AHEAD 24

static const ZydisRegister zydis_registers[UPROBE_REGISTER_COUNT] = {
    [UPROBE_NONE] = ZYDIS_REGISTER_NONE, [UPROBE_RDI] = ZYDIS_REGISTER_RDI,
    [UPROBE_RSI] = ZYDIS_REGISTER_RSI,   [UPROBE_RDX] = ZYDIS_REGISTER_RDX,
    [UPROBE_RCX] = ZYDIS_REGISTER_RCX,   [UPROBE_R8] = ZYDIS_REGISTER_R8,
    [UPROBE_R9] = ZYDIS_REGISTER_R9,     [UPROBE_RSP] = ZYDIS_REGISTER_RSP,
};

static bool is_push_register(const uint8_t *bytes, size_t length)
{
    return (length == 1 && (bytes[0] & 0xf8) == 0x50) ||
           (length == 2 && bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50);
}

static bool is_direct_branch(const uint8_t *bytes, size_t length)
{
    return (length == 2 && (bytes[0] == 0xeb || (bytes[0] & 0xf0) == 0x70)) ||
           (length == 5 && (bytes[0] == 0xe9 || bytes[0] == 0xe8)) ||
           (length == 6 && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80);
}

/* Only the plain encodings: a prefix makes the kernel single-step some of them. */
static bool is_emulated(const uint8_t *bytes, size_t length)
{
    return is_push_register(bytes, length) || is_direct_branch(bytes, length) ||
           (length == 1 && bytes[0] == 0x90);
}

static bool ends_straight_line(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
        return true;
    default:
        return false;
    }
}

/* Does the instruction spoil an argument register, the stack pointer or memory? Memory counts as a
 * whole, since what an argument points to must still be what the caller put there; but for what a
 * push writes, which lies below everything of the caller's. */
static bool spoils(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                   unsigned registers)
{
    for (int i = 0; i < instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
            instruction->meta.category != ZYDIS_CATEGORY_PUSH)
            return true;
        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        ZydisRegister whole =
            ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value);
        for (int reg = UPROBE_NONE + 1; reg < UPROBE_REGISTER_COUNT; reg++)
            if ((registers & 1u << reg) && whole == zydis_registers[reg])
                return true;
    }
    return false;
}

/* Does any direct jump in the function lead behind its entry, but not behind `offset`? Then the
 * site would be passed more than once a call. The code is walked in a straight line; bytes that are
 * no instruction end the walk. */
static bool is_in_loop(const ZydisDecoder *decoder, const uint8_t *code, size_t size,
                       uint64_t offset)
{
    size_t at = 0;
    while (at < size) {
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeFull(decoder, code + at, size - at, &instruction, operands)))
            return false;
        ZyanU64 target;
        if (instruction.operand_count > 0 && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
            operands[0].imm.is_relative &&
            ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operands[0], at, &target)) &&
            target > 0 && target <= offset)
            return true;
        at += instruction.length;
    }
    return false;
}

static int no_site(bool allow_slow, const char *why, struct site *site)
{
    if (allow_slow) {
        *site = (struct site){.slow = true};
        return 0;
    }
    return err_set(ENOTSUP, "%s (--allow-slow would put a probe that costs some 20 us a hit)", why);
}

int site_choose(const uint8_t *code, size_t size, unsigned registers, int nth, bool allow_slow,
                struct site *site)
{
    ZydisDecoder decoder;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return err_set(EINVAL, "the instruction decoder does not work");
    *site = (struct site){0};
    if (size == 0)
        return err_set(ENOTSUP, "no instruction at the function's entry");
    size_t at = 0;
    for (int i = 0; i < LOOK_AHEAD && at < size; i++) {
        ZydisDecodedInstruction instruction;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeFull(&decoder, code + at, size - at, &instruction, operands)))
            return at == 0 ? err_set(ENOTSUP, "no instruction at the function's entry")
                           : no_site(allow_slow, "code that cannot be decoded", site);
        if (is_emulated(code + at, instruction.length) && nth-- == 0) {
            if (at > 0 && is_in_loop(&decoder, code, size, at))
                return no_site(allow_slow, "the cheap instruction is in a loop", site);
            *site = (struct site){.offset = at};
            return 0;
        }
        if (ends_straight_line(&instruction) || spoils(&instruction, operands, registers))
            break;
        at += instruction.length;
    }
    return no_site(allow_slow, "no instruction that the kernel emulates before its arguments move",
                   site);
}

bool site_is_boundary(const uint8_t *code, size_t size, uint64_t offset)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    size_t at = 0;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return false;
    while (at < offset && at < size && offset < size) {
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, size - at, &instruction)))
            return false;
        at += instruction.length;
    }
    return at == offset && at < size;
}

bool site_is_nop_pair(const uint8_t *code, size_t size)
{
    static const uint8_t pair[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    return size >= sizeof(pair) && memcmp(code, pair, sizeof(pair)) == 0;
}
