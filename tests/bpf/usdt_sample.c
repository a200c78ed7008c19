/* SPDX-License-Identifier: MIT */
/* A program with USDT notes, good and bad, for test_usdt.c: it is read, never run. */

/* A note's head, its descriptor's end, and its owner. */
#define NOTE(body)                                                                                 \
    ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                 \
    ".balign 4\n"                                                                                  \
    ".4byte 2f - 1f, 4f - 3f, 3\n"                                                                 \
    "1: .asciz \"stapsdt\"\n"                                                                      \
    "2: .balign 4\n"                                                                               \
    "3: " body "4: .balign 4\n"                                                                    \
    ".popsection\n"
#define ADDRESSES(pc, semaphore) ".8byte " pc ", _.stapsdt.base, " semaphore "\n"

__asm__(
    ".pushsection .text\n"
    ".balign 2\n"
    "sample_site: nop\n"
    ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    "ret\n"
    ".popsection\n"
    ".pushsection .probes, \"aw\", \"progbits\"\n"
    "sample_semaphore: .2byte 0\n"
    ".popsection\n"
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
    ".weak _.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    ".popsection\n"
    /* good ones */
    NOTE(ADDRESSES("sample_site",
                   "sample_semaphore") ".asciz \"optrail\"\n.asciz \"op_start\"\n.asciz \"8@%rdi "
                                       "8@%rsi 8@%rdx\"\n")
        NOTE(ADDRESSES("sample_site",
                       "0") ".asciz \"optrail\"\n.asciz \"no_such_point\"\n.asciz \"8@%rax\"\n")
    /* semaphores that the kernel cannot raise */
    NOTE(ADDRESSES("sample_site",
                   "sample_semaphore + 1") ".asciz \"optrail\"\n.asciz \"odd\"\n.asciz \"\"\n")
        NOTE(ADDRESSES("sample_site",
                       "sample_site") ".asciz \"optrail\"\n.asciz \"in_code\"\n.asciz \"\"\n")
    /* somebody else's */
    NOTE(ADDRESSES("sample_site", "0") ".asciz \"libc\"\n.asciz \"x\"\n.asciz \"\"\n")
    /* strings that do not end; a site that is no code; a semaphore that is nowhere; too short */
    NOTE(ADDRESSES("sample_site", "0") ".ascii \"optrail\"\n")
        NOTE(ADDRESSES("sample_site", "0") ".asciz \"optrail\"\n.ascii \"name\"\n") NOTE(ADDRESSES(
            "sample_semaphore", "0") ".asciz \"optrail\"\n.asciz \"op_end\"\n.asciz \"\"\n")
            NOTE(ADDRESSES("sample_site",
                           "0x7fffffff0000") ".asciz \"optrail\"\n.asciz \"op_end\"\n.asciz \"\"\n")
                NOTE(".4byte 1\n"));

int main(void)
{
    return 0;
}
