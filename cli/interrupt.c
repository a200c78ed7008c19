/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

const volatile int *interrupt_install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* the connection to the terminal is lost, the report not */
    return &interrupted;
}

void interrupt_request(void)
{
    interrupted = 1;
}
