/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_BENCH_INSTRUCTIONS_H
#define OPTRAIL_BENCH_INSTRUCTIONS_H

/*
 * Functions that begin with an instruction of a known kind. NULL on processors for which we have
 * none. The kernel emulates `push` (Linux 4.16 and later); `sub` it copies to another
 * place and single-steps there: two traps.
 */
extern void (*const function_that_pushes)(void);
extern void (*const function_that_subtracts)(void);

#endif
