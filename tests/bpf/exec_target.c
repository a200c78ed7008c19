/* SPDX-License-Identifier: MIT */
/* A program with one probe that becomes another program when it is told to, for test_exec.c. Its
 * note is as those of <sys/sdt.h>: see usdt.h. */
#include <unistd.h>

__asm__(".pushsection .text\n"
        "exec_target_site: nop\n"
        ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
        "ret\n"
        ".popsection\n"
        ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
        ".weak _.stapsdt.base\n"
        "_.stapsdt.base: .space 1\n"
        ".popsection\n"
        ".pushsection .note.stapsdt, \"\", \"note\"\n"
        ".balign 4\n"
        ".4byte 2f - 1f, 4f - 3f, 3\n"
        "1: .asciz \"stapsdt\"\n"
        "2: .balign 4\n"
        "3: .8byte exec_target_site, _.stapsdt.base, 0\n"
        ".asciz \"optrail\"\n"
        ".asciz \"op_start\"\n"
        ".asciz \"8@%rdi 8@%rsi 8@%rdx\"\n"
        "4: .balign 4\n"
        ".popsection\n");

int main(int argc, char **argv)
{
    char byte;
    if (argc < 2 || write(STDOUT_FILENO, "r", 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        return 2;
    execv(argv[1], argv + 1);
    return 3;
}
