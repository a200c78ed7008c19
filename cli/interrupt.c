/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "clock_ns.h"

static volatile int interrupted;
static _Atomic uint64_t first_signal_ns;

bool interrupt_counts(_Atomic uint64_t *first_ns)
{
    uint64_t first = 0, now = monotonic_ns();

    return atomic_compare_exchange_strong(first_ns, &first, now) ||
           (now > first && now - first >= INTERRUPT_GRACE_NS);
}

static void on_signal(int number)
{
    bool first = atomic_load(&first_signal_ns) == 0;

    interrupted = 1;
    if (!interrupt_counts(&first_signal_ns) || first)
        return;
    signal(number, SIG_DFL);
    raise(number); /* when this handler is left */
}

const volatile int *interrupt_install(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL); /* the connection to the terminal is lost, the report not */
    return &interrupted;
}

void interrupt_met(void)
{
    interrupted = 0;
    atomic_store(&first_signal_ns, 0);
}

void interrupt_request(void)
{
    interrupted = 1;
}
