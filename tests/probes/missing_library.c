/* SPDX-License-Identifier: MIT */
/* Stands for LTTng on a machine that does not have it. */
int missing_function(void);

int missing_function(void)
{
    return 1;
}
