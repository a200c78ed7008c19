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
    atomic_store(&in_line, 0);
    return nothing;
}

static void __attribute__((noinline)) count_money(void)
{
    pthread_mutex_lock(&till);
    while (!atomic_load(&in_line))
        usleep(100);
    usleep(20000); /* until after the customer has come to the lock */
    pthread_mutex_unlock(&till);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    pthread_t customer;
    if (pthread_create(&customer, NULL, visit_shop, NULL) != 0)
        return 1;
    for (int i = 0; i < 10 && !atomic_load(&in_line); i++)
        count_money();
    return pthread_join(customer, NULL);
}
