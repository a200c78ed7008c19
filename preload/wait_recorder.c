/* SPDX-License-Identifier: MIT */
#include "wait_recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_stacks.h"
#include "real_calls.h"

#define DEFAULT_THRESHOLD_NS 10000u

struct recorder_counts recorder_counts;
uint64_t recorder_process_began_ns;
_Atomic bool recorder_lttng;

__thread struct recorder_thread recorder_thread __attribute__((tls_model("initial-exec")));

static uint64_t threshold_ns = DEFAULT_THRESHOLD_NS;
static const char *counts_path; /* weak: the environment's */
static atomic_bool ended;       /* the program is at its end */

uint32_t recorder_tid(void)
{
    if (__builtin_expect(recorder_thread.tid == 0, 0))
        recorder_thread.tid = (uint32_t)gettid();
    return recorder_thread.tid;
}

/* Who takes a lock writes his number into it a moment later: wait for it that long. */
#define OWNER_LOOKS 100

/* The time, and who had the lock then: the same before it was read and after. */
static uint64_t read_owner(const int *word, uint32_t *owner)
{
    uint64_t now_ns = 0;

    for (int i = 0; i < OWNER_LOOKS; i++) {
        int before = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (before == 0)
            continue;
        now_ns = recorder_now_ns();
        *owner = (uint32_t)before;
        if (__atomic_load_n(word, __ATOMIC_RELAXED) == before)
            break;
    }
    return now_ns ? now_ns : recorder_now_ns();
}

void wait_begin(struct pending_wait *wait, const void *lock, uint16_t kind, const int *owner)
{
    *wait = (struct pending_wait){.lock = lock, .kind = kind};
    wait->begin_ns = owner ? read_owner(owner, &wait->owner) : recorder_now_ns();
    wait->held = held_lock_get(lock, wait->begin_ns);
    if (!wait->held) {
        recorder_count(locks_without_room, 1);
        return;
    }
    atomic_fetch_add_explicit(&wait->held->waiters, 1, memory_order_relaxed);
    if (!wait->owner)
        wait->owner = atomic_load_explicit(&wait->held->owner, memory_order_relaxed);
}

void wait_abandon(struct pending_wait *wait)
{
    if (wait->held)
        atomic_fetch_sub_explicit(&wait->held->waiters, 1, memory_order_relaxed);
    wait->held = NULL;
}

static uint64_t at_most_32_bits(uint64_t ns)
{
    return ns < UINT32_MAX ? ns : UINT32_MAX;
}

/* Who released the lock to us. */
struct release {
    uint32_t releaser, stack;
    uint64_t hold_ns;
};

static struct release find_release(const struct pending_wait *wait)
{
    struct held_lock *held = wait->held;
    struct release release = {0};

    if (held && atomic_load_explicit(&held->release_ns, memory_order_relaxed) >= wait->begin_ns) {
        release.releaser = atomic_load_explicit(&held->releaser, memory_order_relaxed);
        release.stack = atomic_load_explicit(&held->stack, memory_order_relaxed);
        release.hold_ns = atomic_load_explicit(&held->hold_ns, memory_order_relaxed);
    }
    return release;
}

static void tell(const struct pending_wait *wait, const struct release *release, uint64_t now_ns)
{
    uint64_t lock = (uintptr_t)wait->lock;
    int errno_before = errno;

    recorder_thread.busy = 1;
    uint64_t stack = call_stack_here(now_ns);
    OPTRAIL(lock_waited, lock, now_ns - wait->begin_ns, (uint64_t)wait->kind << 32 | stack);
    OPTRAIL(lock_holder, lock, (uint64_t)wait->owner << 32 | release->releaser,
            at_most_32_bits(release->hold_ns) << 32 | release->stack);
    recorder_thread.busy = 0;
    errno = errno_before;
    recorder_count(waits, 1);
    recorder_count(wait_ns, now_ns - wait->begin_ns);
    bool is_lock = wait->kind != OPTRAIL_WAIT_condvar;
    if (is_lock && wait->owner == 0)
        recorder_count(owner_unknown, 1);
    if (is_lock && release->hold_ns == 0)
        recorder_count(hold_unknown, 1);
}

void wait_end(struct pending_wait *wait, bool had, bool alone)
{
    uint64_t now_ns = recorder_now_ns();
    struct release release = had ? find_release(wait) : (struct release){0};

    if (wait->held) {
        atomic_fetch_sub_explicit(&wait->held->waiters, 1, memory_order_relaxed);
        if (had && alone) {
            atomic_store_explicit(&wait->held->owner, recorder_tid(), memory_order_relaxed);
            atomic_store_explicit(&wait->held->since_ns, now_ns, memory_order_relaxed);
        }
    }
    if (now_ns - wait->begin_ns < threshold_ns) {
        recorder_count(short_waits, 1);
        recorder_count(short_wait_ns, now_ns - wait->begin_ns);
    } else if (recorder_thread.busy) {
        recorder_count(nested, 1);
    } else if (!atomic_load_explicit(&ended, memory_order_relaxed)) {
        tell(wait, &release, now_ns);
    }
}

void held_lock_taken(struct held_lock *held)
{
    if (!recorder_listens()) {
        atomic_store_explicit(&held->owner, 0, memory_order_relaxed);
        return;
    }
    atomic_store_explicit(&held->since_ns, recorder_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&held->owner, recorder_tid(), memory_order_relaxed);
}

void held_lock_released(struct held_lock *held)
{
    uint32_t owner = atomic_exchange_explicit(&held->owner, 0, memory_order_relaxed);

    if (!recorder_listens() || atomic_load_explicit(&held->waiters, memory_order_relaxed) == 0)
        return;
    uint64_t now_ns = recorder_now_ns();
    uint64_t hold_ns = 0;
    int errno_before = errno;
    if (owner == recorder_tid())
        hold_ns = now_ns - atomic_load_explicit(&held->since_ns, memory_order_relaxed);
    uint32_t stack = 0;
    if (hold_ns == 0 || hold_ns >= threshold_ns) {
        recorder_thread.busy = 1;
        stack = call_stack_here(now_ns);
        recorder_thread.busy = 0;
    }
    errno = errno_before;
    atomic_store_explicit(&held->releaser, recorder_tid(), memory_order_relaxed);
    atomic_store_explicit(&held->stack, stack, memory_order_relaxed);
    atomic_store_explicit(&held->hold_ns, hold_ns, memory_order_relaxed);
    atomic_store_explicit(&held->release_ns, now_ns, memory_order_relaxed);
}

/* LTTng's own, of liblttng-ust since 2.13; no header of it tells of them. Set when the provider is
 * loaded; until then no thread is prepared, LTTng's own are not either. */
static void (*_Atomic init_thread)(void);
static void (*read_lock)(void), (*read_unlock)(void);

static void find_preparations(void)
{
    void *tracer = dlopen("liblttng-ust.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *tracepoint = dlopen("liblttng-ust-tracepoint.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *init = tracer ? dlsym(tracer, "lttng_ust_init_thread") : NULL;

    if (tracepoint) {
        *(void **)&read_lock = dlsym(tracepoint, "lttng_ust_tp_rcu_read_lock");
        *(void **)&read_unlock = dlsym(tracepoint, "lttng_ust_tp_rcu_read_unlock");
    }
    if (init && read_lock && read_unlock) {
        void (*found)(void);
        *(void **)&found = init;
        atomic_store(&init_thread, found);
    }
}

void recorder_prepare_thread(void)
{
    void (*init)(void) = atomic_load(&init_thread);

    if (!init || recorder_thread.prepared)
        return;
    int errno_before = errno;
    recorder_thread.busy = 1;
    init();
    /* the tracepoints' library keeps a reader's state of its own */
    read_lock();
    read_unlock();
    recorder_thread.busy = 0;
    recorder_thread.prepared = 1;
    errno = errno_before;
}

bool recorder_can_prepare(void)
{
    return atomic_load(&init_thread) != NULL;
}

void recorder_start(void)
{
    static atomic_bool started;

    if (!atomic_exchange(&started, true)) {
        atomic_store(&recorder_lttng, true);
        if (optrail_probes_start() == 1)
            find_preparations();
        else
            atomic_store(&recorder_lttng, false);
        recorder_prepare_thread();
    }
}

/* A number and ns, us, ms or s; without a unit ns. What is none leaves the default, and is told. */
static void read_threshold(const char *text)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (end != text && number >= 0 && number * units[i].ns < 1e18 &&
            strcmp(end, units[i].unit) == 0) {
            threshold_ns = (uint64_t)(number * units[i].ns);
            return;
        }
    dprintf(STDERR_FILENO,
            "optrail: OPTRAIL_LOCK_THRESHOLD: '%.40s' is no time such as 10us, 0 or 1ms: the "
            "default, 10us, is taken\n",
            text);
}

static void after_fork(void)
{
    recorder_thread.tid = 0;
    recorder_process_began_ns = recorder_now_ns();
    held_locks_forget();
    memset(&recorder_counts, 0, sizeof(recorder_counts));
    recorder_count(forks, 1);
}

static void __attribute__((constructor(101))) begin(void)
{
    const char *threshold = secure_getenv("OPTRAIL_LOCK_THRESHOLD");

    real_calls_find();
    if (threshold)
        read_threshold(threshold);
    counts_path = secure_getenv("OPTRAIL_LOCK_STATS");
    recorder_process_began_ns = recorder_now_ns();
    call_stacks_prepare();
    /* if it fails, for want of memory, a forked child tells of waits as if its parent's threads
     * were there */
    (void)pthread_atfork(NULL, NULL, after_fork);
}

static void write_counts(void)
{
    char path[PATH_MAX], text[2048];
    size_t used = 0;

    if (snprintf(path, sizeof(path), "%s.%d", counts_path, (int)getpid()) >= (int)sizeof(path))
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0)
        return;
#define RECORDER_WRITE(field, text_)                                                               \
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"" #field "\":%llu",            \
                             used ? "," : "{",                                                     \
                             (unsigned long long)atomic_load(&recorder_counts.field));
    RECORDER_ROWS(RECORDER_WRITE)
#undef RECORDER_WRITE
    used += (size_t)snprintf(text + used, sizeof(text) - used, "}\n");
    /* nobody is there to be told that it failed */
    (void)!write(file, text, used);
    close(file);
}

static void __attribute__((destructor)) end(void)
{
    atomic_store(&ended, true);
    if (counts_path && *counts_path)
        write_counts();
}
