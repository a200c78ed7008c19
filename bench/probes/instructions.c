/* SPDX-License-Identifier: MIT */
#include "instructions.h"

#include <stddef.h>

#if defined(__x86_64__)

void bench_pushes(void);
void bench_subtracts(void);

__asm__(".pushsection .text\n"
        ".globl bench_pushes\n"
        ".hidden bench_pushes\n"
        ".type bench_pushes, @function\n"
        ".balign 16\n"
        "bench_pushes: push %rbp\n"
        "pop %rbp\n"
        "ret\n"
        ".size bench_pushes, . - bench_pushes\n"
        ".globl bench_subtracts\n"
        ".hidden bench_subtracts\n"
        ".type bench_subtracts, @function\n"
        ".balign 16\n"
        "bench_subtracts: sub $8, %rsp\n"
        "add $8, %rsp\n"
        "ret\n"
        ".size bench_subtracts, . - bench_subtracts\n"
        ".popsection\n");

void (*const function_that_pushes)(void) = bench_pushes;
void (*const function_that_subtracts)(void) = bench_subtracts;

#else

void (*const function_that_pushes)(void) = NULL;
void (*const function_that_subtracts)(void) = NULL;

#endif
