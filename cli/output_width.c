/* SPDX-License-Identifier: MIT */
#include "output_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

int output_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col > 0 && size.ws_col < 100 ? size.ws_col : 0;
}
