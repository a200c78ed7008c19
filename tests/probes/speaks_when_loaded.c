/* SPDX-License-Identifier: MIT */
/* What another user would like to run in the daemon: says so, before anything is asked of it. */
#include <unistd.h>

__attribute__((constructor)) static void speak(void)
{
    static const char text[] = "code of another user was run\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}
