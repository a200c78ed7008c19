/* SPDX-License-Identifier: MIT */
/* A library that the subject loads while it is looked at. */

static volatile int calls;

extern "C" __attribute__((noinline, noipa)) void in_library(void (*call)())
{
    call();
    calls = calls + 1;
}
