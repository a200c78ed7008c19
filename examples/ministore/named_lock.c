/* SPDX-License-Identifier: MIT */
#include "named_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <optrail/probe.h>
#include <string.h>

#include "clock.h"

/* A name is told again after so long to those who listen: they may have come later. */
#define NAME_AGAIN_NS NS_PER_SECOND
#define SPINS         32
#define NAP_NS        20000

static const char *const names[LOCK_NAME_COUNT] = {
#define LOCK_ROW(name, text_name, text) text_name,
    LOCK_ROWS(LOCK_ROW)
#undef LOCK_ROW
};

static const char *const room_names[LOCK_NAME_COUNT] = {
#define LOCK_ROW(name, text_name, text) text_name ".room",
    LOCK_ROWS(LOCK_ROW)
#undef LOCK_ROW
};

static struct {
    _Atomic uint64_t taken, waits, wait_ns, room_waits, room_wait_ns, holds, hold_ns;
} accounts[LOCK_NAME_COUNT];

static bool measures_holds; /* constant once threads run */

#define account_add(lock, field, amount)                                                           \
    ((void)atomic_fetch_add_explicit(&accounts[(lock)->name].field, (amount), memory_order_relaxed))

void lock_measure_holds(void)
{
    measures_holds = true;
}

void lock_init(struct named_lock *lock, enum lock_kind kind, enum lock_name name, uint64_t instance)
{
    memset(lock, 0, sizeof(*lock));
    lock->kind = kind;
    lock->name = name;
    lock->instance = instance;
    if (kind == LOCK_KIND_MUTEX)
        pthread_mutex_init(&lock->mutex, NULL);
    else if (kind == LOCK_KIND_WRITE)
        pthread_rwlock_init(&lock->rwlock, NULL);
    else
        atomic_init(&lock->spin, false);
}

void lock_destroy(struct named_lock *lock)
{
    if (lock->kind == LOCK_KIND_MUTEX)
        pthread_mutex_destroy(&lock->mutex);
    else if (lock->kind == LOCK_KIND_WRITE)
        pthread_rwlock_destroy(&lock->rwlock);
}

static uint64_t wait_kind(const struct named_lock *lock)
{
    static const uint64_t kinds[] = {[LOCK_KIND_MUTEX] = OPTRAIL_WAIT_mutex,
                                     [LOCK_KIND_WRITE] = OPTRAIL_WAIT_rwlock_write,
                                     [LOCK_KIND_SPIN] = OPTRAIL_WAIT_spin};
    return kinds[lock->kind];
}

static void tell_name(struct named_lock *lock)
{
    uint64_t now = clock_now_ns();
    uint64_t before = atomic_load_explicit(&lock->named_ns, memory_order_relaxed);
    if (before && now - before < NAME_AGAIN_NS)
        return;
    atomic_store_explicit(&lock->named_ns, now, memory_order_relaxed);
    OPTRAIL_TEXT(lock_named, lock, names[lock->name], lock->instance);
}

static bool take_if_free(struct named_lock *lock)
{
    switch (lock->kind) {
    case LOCK_KIND_MUTEX:
        return pthread_mutex_trylock(&lock->mutex) == 0;
    case LOCK_KIND_WRITE:
        return pthread_rwlock_trywrlock(&lock->rwlock) == 0;
    default:
        return !atomic_exchange_explicit(&lock->spin, true, memory_order_acquire);
    }
}

static void spin(struct named_lock *lock)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    for (unsigned turn = 1; !take_if_free(lock); turn++) {
        if (turn % SPINS == 0)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
}

static void take_when_free(struct named_lock *lock)
{
    uint64_t begin = clock_now_ns();
    if (lock->kind == LOCK_KIND_MUTEX)
        pthread_mutex_lock(&lock->mutex);
    else if (lock->kind == LOCK_KIND_WRITE)
        pthread_rwlock_wrlock(&lock->rwlock);
    else
        spin(lock);
    account_add(lock, waits, 1);
    account_add(lock, wait_ns, clock_now_ns() - begin);
}

static void begin_hold(struct named_lock *lock)
{
    if (measures_holds)
        lock->since_ns = clock_now_ns();
}

static void end_hold(struct named_lock *lock)
{
    if (!measures_holds)
        return;
    account_add(lock, holds, 1);
    account_add(lock, hold_ns, clock_now_ns() - lock->since_ns);
}

void lock_take(struct named_lock *lock)
{
    if (OPTRAIL_ENABLED(lock_named))
        tell_name(lock);
    if (!take_if_free(lock)) {
        OPTRAIL(lock_request, lock, wait_kind(lock), lock->instance);
        take_when_free(lock);
    }
    OPTRAIL(lock_acquired, lock, wait_kind(lock), lock->instance);
    if (measures_holds)
        account_add(lock, taken, 1);
    begin_hold(lock);
}

void lock_take_marked(struct named_lock *lock)
{
    if (OPTRAIL_ENABLED(lock_named))
        tell_name(lock);
    if (!take_if_free(lock))
        take_when_free(lock);
    if (measures_holds)
        account_add(lock, taken, 1);
    begin_hold(lock);
}

void lock_give_marked(struct named_lock *lock)
{
    end_hold(lock);
    if (lock->kind == LOCK_KIND_MUTEX)
        pthread_mutex_unlock(&lock->mutex);
    else if (lock->kind == LOCK_KIND_WRITE)
        pthread_rwlock_unlock(&lock->rwlock);
    else
        atomic_store_explicit(&lock->spin, false, memory_order_release);
}

void lock_give(struct named_lock *lock)
{
    OPTRAIL(lock_released, lock, wait_kind(lock), lock->instance);
    lock_give_marked(lock);
}

int lock_wait_until(struct named_lock *lock, pthread_cond_t *condition,
                    const struct timespec *until)
{
    end_hold(lock);
    OPTRAIL(lock_released, lock, wait_kind(lock), lock->instance);
    int result = until ? pthread_cond_timedwait(condition, &lock->mutex, until)
                       : pthread_cond_wait(condition, &lock->mutex);
    OPTRAIL(lock_acquired, lock, wait_kind(lock), lock->instance);
    begin_hold(lock);
    return result;
}

void lock_wait(struct named_lock *lock, pthread_cond_t *condition)
{
    (void)lock_wait_until(lock, condition, NULL);
}

void lock_wait_room(struct named_lock *lock, pthread_cond_t *condition)
{
    OPTRAIL_TEXT(lock_named, condition, room_names[lock->name], lock->instance);
    OPTRAIL(lock_request, condition, OPTRAIL_WAIT_condvar, lock->instance);
    uint64_t begin = clock_now_ns();
    lock_wait(lock, condition);
    account_add(lock, room_waits, 1);
    account_add(lock, room_wait_ns, clock_now_ns() - begin);
    OPTRAIL(lock_acquired, condition, OPTRAIL_WAIT_condvar, lock->instance);
}

void lock_write_json(FILE *file)
{
    const char *separator = "";
    fputc('{', file);
    for (int i = 0; i < LOCK_NAME_COUNT; i++) {
        if (!accounts[i].taken && !accounts[i].waits && !accounts[i].room_waits)
            continue;
        fprintf(file,
                "%s\"%s\":{\"taken\":%" PRIu64 ",\"waits\":%" PRIu64 ",\"wait_ns\":%" PRIu64
                ",\"room_waits\":%" PRIu64 ",\"room_wait_ns\":%" PRIu64 ",\"holds\":%" PRIu64
                ",\"hold_ns\":%" PRIu64 "}",
                separator, names[i], accounts[i].taken, accounts[i].waits, accounts[i].wait_ns,
                accounts[i].room_waits, accounts[i].room_wait_ns, accounts[i].holds,
                accounts[i].hold_ns);
        separator = ",";
    }
    fputc('}', file);
}
