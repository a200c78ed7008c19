/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_USDT_SITE_H
#define OPTRAIL_USDT_SITE_H

/*
 * USDT_SITE(identifier, key, arg0, arg1): a place where a tracer can put a uprobe, and the ELF note
 * that tells where it is, in the format that SystemTap defined (note name "stapsdt", type 3; see
 * its wiki page "UserSpaceProbeImplementation") and that perf, bpftrace and libbpf read.
 *
 * Our own macro instead of <sys/sdt.h>, for three reasons. The site is a 1-byte nop, which every
 * kernel emulates, followed by a 5-byte nop, which kernels from 6.18 on can turn into a call of a
 * trampoline (twice as cheap) but which others single-step (thirty times dearer): a tracer that
 * knows optrail tries before it chooses, every other takes the first, at which the note points. The
 * arguments are always key, arg0 and arg1 in the first three argument registers, so that a tracer
 * needs no parser for operands. And the six bytes lie in one page, as the kernel wants it.
 *
 * An optimised nop pushes its return address onto the stack. A function that uses the red zone, the
 * 128 bytes below the stack pointer that a leaf function may use without reserving them, would lose
 * what it keeps there. So sites live in functions of their own, compiled with -mno-red-zone; that
 * they are called at all makes their callers no leaf functions.
 *
 * The note does not have to be loaded: its section is not allocated and costs no memory. Its
 * addresses are those of the file; .stapsdt.base, an empty section whose address the note repeats,
 * tells a reader by how much a tool like prelink has moved the rest.
 */

#if defined(__x86_64__) && defined(__LP64__)

#define USDT_NOPS      ".byte 0x90\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define USDT_ARGUMENTS "8@%%rdi 8@%%rsi 8@%%rdx"
#define USDT_REGISTERS(key_, first_, second_)                                                      \
    register uint64_t usdt_key __asm__("rdi") = (key_);                                            \
    register uint64_t usdt_first __asm__("rsi") = (first_);                                        \
    register uint64_t usdt_second __asm__("rdx") = (second_)

#elif defined(__aarch64__) && defined(__LP64__)

#define USDT_NOPS      "nop\nnop\n"
#define USDT_ARGUMENTS "8@x0 8@x1 8@x2"
#define USDT_REGISTERS(key_, first_, second_)                                                      \
    register uint64_t usdt_key __asm__("x0") = (key_);                                             \
    register uint64_t usdt_first __asm__("x1") = (first_);                                         \
    register uint64_t usdt_second __asm__("x2") = (second_)

#endif

#ifdef USDT_NOPS

#define USDT_SITE(identifier, key_, first_, second_)                                               \
    do {                                                                                           \
        USDT_REGISTERS(key_, first_, second_);                                                     \
        __asm__ volatile(                                                                          \
            ".balign 8\n"                                                                          \
            "990:\n" USDT_NOPS ".pushsection .note.stapsdt, \"\", \"note\"\n"                      \
            ".balign 4\n"                                                                          \
            ".4byte 992f - 991f, 994f - 993f, 3\n"                                                 \
            "991: .asciz \"stapsdt\"\n"                                                            \
            "992: .balign 4\n"                                                                     \
            "993: .8byte 990b\n"                                                                   \
            ".8byte _.stapsdt.base\n"                                                              \
            ".8byte optrail_" #identifier "_semaphore\n"                                           \
            ".asciz \"optrail\"\n"                                                                 \
            ".asciz \"" #identifier "\"\n"                                                         \
            ".asciz \"" USDT_ARGUMENTS "\"\n"                                                      \
            "994: .balign 4\n"                                                                     \
            ".popsection\n"                                                                        \
            ".ifndef _.stapsdt.base\n"                                                             \
            ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"            \
            ".weak _.stapsdt.base\n"                                                               \
            ".hidden _.stapsdt.base\n"                                                             \
            "_.stapsdt.base: .space 1\n"                                                           \
            ".size _.stapsdt.base, 1\n"                                                            \
            ".popsection\n"                                                                        \
            ".endif\n"                                                                             \
            :                                                                                      \
            : "r"(usdt_key), "r"(usdt_first), "r"(usdt_second));                                   \
    } while (0)

#else

#define USDT_SITE(identifier, key_, first_, second_) ((void)0)

#endif

#endif
