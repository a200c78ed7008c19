/* SPDX-License-Identifier: MIT */
/* A shop with one till: the assistant has its lock, a customer waits for it. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int in_line;

static void __attribute__((noinline)) wait_in_line(void)
{
    atomic_store(&in_line, 1);
    pthread_mutex_lock(&till);
    pthread_mutex_unlock(&till);
    __asm__ volatile("" ::: "memory"); /* no tail call: the frame stays */
}

static void *visit_shop(void *nothing)
{
    wait_in_line();
    return nothing;
}

/* The customer comes when the till is taken, or might be gone before. */
int main(void)
{
    pthread_t customer;
    pthread_mutex_lock(&till);
    if (pthread_create(&customer, NULL, visit_shop, NULL) != 0)
        return 1;
    while (!atomic_load(&in_line))
        usleep(100);
    usleep(20000); /* until after the customer has come to the lock */
    pthread_mutex_unlock(&till);
    return pthread_join(customer, NULL);
}
